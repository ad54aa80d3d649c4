internal import Evstore

/// Prints the lines of a listing while the store lends them one by one. An error of printing, or an interruption, ends the listing and is
/// thrown after it, since it is not an error of the store.
struct Lines {
    private let session: Session
    private var failure: (any Error)?

    init(_ session: Session) { self.session = session }

    /// Prints one line and says whether the next one is wanted.
    mutating func next(_ print: (Output) throws -> Void) -> Bool {
        do {
            try session.interrupts.check()
            try print(session.output)
            return true
        } catch {
            failure = error
            return false
        }
    }

    /// Ends the listing.
    func end() throws {
        if let failure { throw failure }
        try session.output.flush()
    }
}
