public import Evstore

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
