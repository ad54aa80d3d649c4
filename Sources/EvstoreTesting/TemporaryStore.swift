public import Evstore
internal import Foundation

/// A store in a temporary directory, removed with the last reference to this.
public final class TemporaryStore: Sendable {
    public let store: EventStore
    public let schemas: Schemas
    private let directory: TemporaryDirectory

    private init(_ store: EventStore, _ schemas: Schemas, _ directory: TemporaryDirectory) {
        (self.store, self.schemas, self.directory) = (store, schemas, directory)
    }

    public var path: String { store.path }

    /// Writes a file beside the store, which is removed with it.
    public func write(_ text: String, to name: String) throws -> String { try directory.write(text, to: name) }

    /// Creates a store whose floor is `from` (`version` where nil) and whose live version is `version` (the newest where nil), with some
    /// events.
    ///
    /// Each event is born at the version that it names, or at the live one.
    public static func make(
        _ schemas: Schemas, at version: SchemaVersion? = nil, from floor: SchemaVersion? = nil, events: [NewEvent] = [],
        steps: [any SwiftStep] = [], projections: [any SwiftProjection] = [], options: Options = .forTests
    ) async throws -> TemporaryStore {
        let directory = try TemporaryDirectory()
        let (path, live) = (directory.path + "/store", version ?? schemas.head)
        let store = try await EventStore.create(
            path, schemas: schemas, version: floor ?? live, steps: steps, projections: projections, options: options)
        if let floor, floor < live { _ = try await store.migrate(to: live, options: MigrationOptions(yes: true)) }
        for event in events { _ = try await store.append([event]) }
        return TemporaryStore(store, schemas, directory)
    }

    /// Opens another handle on the store in this process.
    public func open(
        version: SchemaVersion? = nil, policy: Policy = .require, schemas: Schemas? = nil, steps: [any SwiftStep] = [],
        projections: [any SwiftProjection] = [],
        readOnly: Bool = false
    ) async throws(EvstoreError) -> EventStore {
        try await EventStore.open(
            path, schemas: schemas, version: version, policy: policy, steps: steps, projections: projections, readOnly: readOnly,
            options: store.options)
    }
}

extension Options {
    /// Small maps, so that many stores can be open at once, and long deadlines for a machine that runs many tests.
    public static var forTests: Options {
        var options = Options()
        options.mapBytes = 1 << 28
        options.ballastBytes = 0
        options.freeDiskFloorBytes = 0
        options.pollInterval = .milliseconds(50)
        options.appendDeadline = .seconds(300)
        options.readModelDeadline = .seconds(300)
        return options
    }
}

/// A new directory below the system's directory for temporary files, removed with the last reference to it.
public final class TemporaryDirectory: Sendable {
    public let path: String

    public init() throws {
        let name = "evstore-\(UUID().uuidString.lowercased())"
        path = FileManager.default.temporaryDirectory.appendingPathComponent(name).path
        try FileManager.default.createDirectory(atPath: path, withIntermediateDirectories: true)
    }

    deinit {
        // A directory that can't be removed is left to the system, like every temporary file.
        do { try FileManager.default.removeItem(atPath: path) } catch {}
    }

    /// Writes a file into the directory or into a subdirectory, which is created; returns the file's path.
    @discardableResult
    public func write(_ text: String, to name: String) throws -> String {
        let file = path + "/" + name
        let parent = URL(fileURLWithPath: file).deletingLastPathComponent().path
        try FileManager.default.createDirectory(atPath: parent, withIntermediateDirectories: true)
        try Data(text.utf8).write(to: URL(fileURLWithPath: file))
        return file
    }
}

/// Version files and projections that a test provides as texts, in a directory that is removed with the last reference to this.
public struct SchemaFiles: Sendable {
    private let directory: TemporaryDirectory

    /// Writes the texts of `v1.yaml`, `v2.yaml` …, and of `projections.yaml` where it is not nil.
    public init(_ versions: String..., projections: String? = nil) throws {
        try self.init(versions: versions, projections: projections)
    }

    public init(versions: [String], projections: String? = nil) throws {
        directory = try TemporaryDirectory()
        for (index, text) in versions.enumerated() { try directory.write(text, to: "v\(index + 1).yaml") }
        if let projections { try directory.write(projections, to: "projections.yaml") }
    }

    public var path: String { directory.path }

    /// Reads and checks the files as they are now.
    public func load() throws(EvstoreError) -> Schemas { try Schemas.load(path) }
}
