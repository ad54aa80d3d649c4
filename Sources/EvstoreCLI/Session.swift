internal import ArgumentParser
internal import Evstore
internal import Logging
internal import Projections
internal import SchemaEvolution

/// One command line being carried out: where words go, what stops it, and the store it names.
struct Session: Sendable {
    let global: GlobalOptions
    let output: Output
    let interrupts: Interrupts
    let bar: ProgressBar
    /// What was typed, as a shell takes it: an interrupted command says to run this again.
    let invocation: String
    /// What the program that calls this command line brings along.
    let application: Application

    var cancellation: Cancellation { interrupts.cancellation }

    var progress: Progress { { [bar] in bar.take($0) } }

    var logger: Logger { Logger(label: "evstore") { [output] _ in NoteLog(output: output) } }

    /// What a store is opened with.
    func options() throws -> Options {
        var options = Options()
        options.allowsUnsafeFileSystem = global.anyFileSystem
        options.secret = try global.secret()
        return options
    }

    func schemas() throws -> Schemas? { try global.schemas.map { directory throws(EvstoreError) in try Schemas.load(directory) } }

    /// Opens the store, hands it to `body` and closes it again, also where the body throws. What `body` has done stands.
    func withStore<R>(_ access: Access = .writing, _ body: (EventStore) async throws -> R) async throws -> R {
        let store = try await open(access)
        let result: R
        do {
            result = try await body(store)
        } catch {
            bar.finish()
            // The first error is the one to tell; a store that then fails to close has lost nothing.
            do { try await store.close() } catch { output.note("note: closing the store: \(error.message)") }
            throw error
        }
        bar.finish()
        // What was done is durable whatever becomes of the closing, and is told.
        do { try await store.close() } catch { output.note("warning: closing the store: \(error.message)") }
        return result
    }
}

extension Session {
    /// What a command wants of the store.
    enum Access { case reading, writing, writingIfAllowed }

    private func open(_ access: Access) async throws -> EventStore {
        let (path, schemas, options) = try (global.storePath(), schemas(), options())
        do {
            return try await EventStore.open(
                at: path, schemas: schemas, steps: application.steps, projections: application.projections, readOnly: access == .reading,
                options: options, logger: logger)
        } catch EvstoreError.readOnly where access == .writingIfAllowed {
            return try await EventStore.open(
                at: path, schemas: schemas, steps: application.steps, projections: application.projections, readOnly: true,
                options: options, logger: logger)
        }
    }
}

/// The code that an application brings to the command line.
struct Application: Sendable {
    var steps: [any SwiftStep] = []
    var projections: [any SwiftProjection] = []
}

/// One verb of the command line: parsed by the argument parser, carried out in a session.
protocol Command: ParsableCommand {
    var global: GlobalOptions { get }
    func run(in session: Session) async throws
}

/// A result that was printed whole and whose exit code is not 0.
struct Exit: Error {
    let code: Int32

    static let refused = Exit(code: 3)
    static let pending = Exit(code: 4)
    static let integrity = Exit(code: 7)
    static let quarantined = Exit(code: 8)
}

/// Warnings of the store as notes on standard error; what is less than a warning is not for people.
private struct NoteLog: LogHandler {
    let output: Output
    var metadata: Logger.Metadata = [:]
    var logLevel: Logger.Level = .warning

    init(output: Output) { self.output = output }

    subscript(metadataKey key: String) -> Logger.Metadata.Value? {
        get { metadata[key] }
        set { metadata[key] = newValue }
    }

    func log(event: LogEvent) {
        let details = (event.metadata ?? [:]).sorted { $0.key < $1.key }.map { "\($0.key) \($0.value)" }
        output.note("note: \(event.message)" + (details.isEmpty ? "" : " (\(details.joined(separator: ", ")))"))
    }
}
