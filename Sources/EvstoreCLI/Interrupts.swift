internal import Dispatch
internal import EventModel
internal import Glibc
internal import Synchronization

/// ^C and SIGTERM: the first asks the work to stop at its next chunk, the second ends the program at
/// once, which a store survives as it survives a power cut.
final class Interrupts: Sendable {
    let cancellation = Cancellation()
    private let onFirst = Mutex<(@Sendable () -> Void)?>(nil)

    /// From here on the signals are this object's business. A reader that goes away is a failed write.
    init() {
        signal(SIGPIPE, SIG_IGN)
        let queue = DispatchQueue(label: "evstore.interrupts")
        for number in [SIGINT, SIGTERM] {
            signal(number, SIG_IGN)
            let source = DispatchSource.makeSignalSource(signal: number, queue: queue)
            // The source lives as long as its handler, which is as long as the program.
            source.setEventHandler { withExtendedLifetime(source) { self.received() } }
            source.resume()
        }
    }

    /// What is done at the first signal, in addition.
    func atFirst(_ body: @escaping @Sendable () -> Void) {
        onFirst.withLock { $0 = body }
        if cancellation.isCancelled { body() }
    }

    private func received() {
        if cancellation.isCancelled { _exit(9) }
        cancellation.cancel()
        onFirst.withLock(\.self)?()
    }

    /// Ends work that a signal asked to stop; called between the lines of a listing.
    func check() throws { if cancellation.isCancelled { throw EvstoreError.interrupted(again: "") } }
}
