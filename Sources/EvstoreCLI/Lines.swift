internal import Evstore

/// The lines of a listing while the store lends them one by one. What goes wrong in printing, or an
/// interruption, ends the listing and is thrown after it: it is none of the store's errors.
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
