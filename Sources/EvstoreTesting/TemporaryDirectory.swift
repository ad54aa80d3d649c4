internal import Foundation

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
