internal import ArgumentParser
internal import Dispatch
internal import EventModel
internal import Evstore
internal import EvstoreCluster
internal import Glibc
internal import Logging
internal import Platform
internal import Projections
internal import SchemaEvolution
internal import Synchronization

/// The context of one command line: its output, its cancellation, and the store that it names.
struct Session: Sendable {
    let global: GlobalOptions
    let output: Output
    let interrupts: Interrupts
    let bar: ProgressBar
    /// The code of the application that has this command line.
    let application: Application
    /// What stands on the command line before two dashes, in order.
    let words: [String]
    private let known = Monitor<Schemas?>(nil)

    var progress: ProgressHandler { bar.take }

    var logger: Logger { Logger(label: "evstore") { [output] _ in NoteLog(output: output) } }

    /// How long a command waits for what other nodes have appended.
    private static let catchUpLimit = Duration.seconds(2)

    func options(isFollowing: Bool = false, isStale: Bool = false) throws -> Options {
        var options = Options()
        options.followsInBackground = isFollowing
        options.queriesMayLag = true
        options.allowsUnsafeFileSystem = global.anyFileSystem
        options.secret = try global.secret()
        options.joinsClusters(as: "evstore")
        options.catchUpLimit = isStale || global.stale ? nil : Self.catchUpLimit
        return options
    }

    /// The version files that the command line names, read once.
    func schemas() throws -> Schemas? {
        guard let directory = global.schemas else { return nil }
        return try known.withLock { known in
            let schemas = try known ?? Schemas.load(directory)
            known = schemas
            return schemas
        }
    }

    /// Opens the store, calls `body` with it, and closes it, also where `body` throws.
    /// - Parameters:
    ///   - isFollowing: whether read models are brought to the log's end for as long as it is open.
    ///   - isStale: whether a node is opened as it is, without what others have appended.
    ///   - asItIs: whether it is opened without the version files of the command line, which would have to fit.
    func withStore<R>(
        _ access: Access = .writing, isFollowing: Bool = false, isStale: Bool = false, asItIs: Bool = false,
        _ body: (EventStore) async throws -> R
    ) async throws -> R {
        let schemas = asItIs ? nil : try schemas()
        let store = try await open(access, schemas, options(isFollowing: isFollowing, isStale: isStale))
        let result: R
        do {
            result = try await body(store)
        } catch {
            bar.finish()
            // The error of `body` is reported; a store that then fails to close has lost nothing.
            do { try await store.close() } catch { output.note("note: closing the store: \(error.words)") }
            throw error
        }
        bar.finish()
        // The work is durable even where closing fails, so its result is returned.
        do { try await store.close() } catch { output.note("warning: closing the store: \(error.words)") }
        return result
    }

    enum Access { case reading, writing, writingIfAllowed }

    private func open(_ access: Access, _ schemas: Schemas?, _ options: Options) async throws -> EventStore {
        do {
            return try await EventStore.open(
                global.storePath(), schemas: schemas, steps: application.steps, projections: application.projections,
                readOnly: access == .reading, options: options, logger: logger)
        } catch EvstoreError.readOnly where access == .writingIfAllowed {
            return try await open(.reading, schemas, options)
        }
    }
}

struct Application: Sendable {
    let steps: [any SwiftStep]
    let projections: [any SwiftProjection]
}

/// A command: parsed by the argument parser, run in a session.
protocol Command: ParsableCommand {
    var global: GlobalOptions { get }
    func run(in session: Session) async throws
}

extension EventStore {
    /// The version that an option names; nil where it is not given.
    func version(ifNamed text: String?) throws(EvstoreError) -> SchemaVersion? {
        if let text { try version(named: text) } else { nil }
    }
}

/// Thrown after a result was printed, to end with an exit code other than 0.
struct Exit: Error, Equatable {
    let code: Int32

    static let failing = Exit(code: 1)
    static let refused = Exit(code: 3)
    static let pending = Exit(code: 4)
    static let locked = Exit(code: 5)
    static let integrity = Exit(code: 7)
    static let quarantined = Exit(code: 8)
}

/// Prints the store's warnings as notes on standard error; lower levels are not printed.
private struct NoteLog: LogHandler {
    let output: Output
    var metadata: Logger.Metadata = [:]
    var logLevel: Logger.Level = .warning

    subscript(metadataKey key: String) -> Logger.Metadata.Value? {
        get { metadata[key] }
        set { metadata[key] = newValue }
    }

    func log(event: LogEvent) {
        var metadata = event.metadata ?? [:]
        var words = "note: \(event.message)"
        if case .stringConvertible(let value as AdvisedError)? = metadata["error"] {
            words += ": \((value.error as? EvstoreError)?.words ?? value.description)"
            metadata["error"] = nil
        }
        let details = metadata.sorted { $0.key < $1.key }.map { "\($0.key) \($0.value)" }
        output.note(words + (details.isEmpty ? "" : " (\(details.joined(separator: ", ")))"))
    }
}

extension Session {
    /// Runs work that changes nothing and never checks for cancellation: the first signal ends the wait for it, and with that the program.
    func computing<R: Sendable>(_ body: @escaping @Sendable () throws -> R) async throws -> R {
        let (results, answer) = AsyncThrowingStream<R, any Error>.makeStream()
        DispatchQueue.global().async {
            do {
                answer.yield(try body())
                answer.finish()
            } catch { answer.finish(throwing: error) }
        }
        for try await result in results { return result }
        // Without a result the stream ends by a cancellation alone.
        throw EvstoreError.interrupted(again: "")
    }
}

/// Handles ^C, SIGTERM and the closing of the terminal: the first signal cancels the work at its next chunk, the second ends the program
/// at once, which a store survives as it survives a power cut. So does a first one where the work can't be cancelled: where it waits in a
/// write that does not end, since nobody reads what is printed, or for something else that hangs.
final class Interrupts: Sendable {
    private static let interruptedCode: Int32 = 9
    private static let obstacleTimes = 5
    private let queue = DispatchQueue(label: "evstore.interrupts")
    private let received = Atomic<Bool>(false)
    private let code = Atomic<Int32>(interruptedCode)
    private let onFirst = Mutex<(@Sendable () -> Void)?>(nil)
    private let obstacle = Mutex<(@Sendable () -> Bool)?>(nil)

    /// Handles the signals from here on, and makes a closed pipe the error of a write.
    init() {
        signal(SIGPIPE, SIG_IGN)
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

    func atFirst(_ body: @escaping @Sendable () -> Void) {
        onFirst.withLock { $0 = body }
        if isCancelled { body() }
    }

    var isCancelled: Bool { received.load(ordering: .acquiring) }

    private func receive() {
        if received.exchange(true, ordering: .acquiringAndReleasing) { _exit(Self.interruptedCode) }
        endIfHeld()
        onFirst.withLock(\.self)?()
    }

    /// Makes an interruption a normal end of the command, with exit code 0.
    func areTheNormalEnd() { code.store(0, ordering: .relaxed) }

    /// Makes an interruption end the program also while something hangs that the work may wait for.
    /// - Parameter hangs: says, without waiting, whether it does; asked each second from the first signal on.
    func endProgram(while hangs: @escaping @Sendable () -> Bool) { obstacle.withLock { $0 = hangs } }

    /// Ends the program once one write has gone on for a second, or five times in a row something else has hung.
    /// - Parameter before: how often in a row it has hung so far.
    private func endIfHeld(_ before: Int = 0) {
        queue.asyncAfter(deadline: .now() + 1) { [self] in
            let times = obstacle.withLock(\.self)?() == true ? before + 1 : 0
            if Output.isUnread || times == Self.obstacleTimes { _exit(code.load(ordering: .relaxed)) }
            endIfHeld(times)
        }
    }

    /// Throws where a signal has cancelled the work; called between the lines of a listing.
    func check() throws { if isCancelled { throw EvstoreError.interrupted(again: "") } }
}
