internal import Dispatch
internal import EventModel
internal import Glibc
internal import Platform
internal import Synchronization

/// Handles ^C, SIGTERM and the closing of the terminal: the first signal cancels the work at its next chunk, the second ends the program
/// at once, which a store survives as it survives a power cut.
final class Interrupts: Sendable {
    private let received = Atomic<Bool>(false)
    private let onFirst = Mutex<(@Sendable () -> Void)?>(nil)

    /// Handles the signals from here on, and makes a closed pipe the error of a write.
    init() {
        signal(SIGPIPE, SIG_IGN)
        let queue = DispatchQueue(label: "evstore.interrupts")
        // Under nohup the program ignores the closing of the terminal.
        for number in Self.isHangupIgnored ? [SIGINT, SIGTERM] : [SIGINT, SIGTERM, SIGHUP] {
            signal(number, SIG_IGN)
            let source = DispatchSource.makeSignalSource(signal: number, queue: queue)
            // The source lives as long as its handler, which is as long as the program.
            source.setEventHandler { withExtendedLifetime(source) { self.receive() } }
            source.resume()
        }
    }

    /// Whether the process was started with SIGHUP ignored (proc_pid_status(5)).
    private static var isHangupIgnored: Bool {
        do {
            let status = String(decoding: try File("/proc/self/status", .read).read(64 << 10), as: UTF8.self)
            let line = status.split(separator: "\n").first { $0.hasPrefix("SigIgn:") }
            let mask = line.flatMap { UInt64($0.dropFirst("SigIgn:".count).drop { $0 == "\t" }, radix: 16) } ?? 0
            return mask & 1 << UInt64(SIGHUP - 1) != 0
        } catch { return false }
    }

    /// Called at the first signal, besides the cancellation.
    func atFirst(_ body: @escaping @Sendable () -> Void) {
        onFirst.withLock { $0 = body }
        if isCancelled { body() }
    }

    /// Whether a signal has asked the work to end.
    var isCancelled: Bool { received.load(ordering: .acquiring) }

    private func receive() {
        if received.exchange(true, ordering: .acquiringAndReleasing) { _exit(9) }
        onFirst.withLock(\.self)?()
    }

    /// Throws where a signal has cancelled the work; called between the lines of a listing.
    func check() throws { if isCancelled { throw EvstoreError.interrupted(again: "") } }
}
