package import EvstoreTesting
package import Foundation

extension TemporaryDirectory {
    /// A directory with a copy of all that lies in another.
    package convenience init(copying other: String) throws {
        try self.init()
        for name in try FileManager.default.contentsOfDirectory(atPath: other) {
            try FileManager.default.copyItem(atPath: other + "/" + name, toPath: path + "/" + name)
        }
    }

    package var url: URL { URL(filePath: path) }

    package func url(_ name: String) -> URL { url.appending(path: name) }

    /// Where a test makes its store.
    package var store: String { path + "/store" }

    /// What a file in it says.
    package func text(_ name: String) throws -> String { try String(contentsOf: url(name), encoding: .utf8) }

    /// A text that stands in a file becomes another.
    package func change(_ name: String, _ old: String, _ new: String) throws {
        let text = try text(name)
        guard text.contains(old) else { throw Unfound(description: "\(name) has no \(old)") }
        try write(text.replacing(old, with: new), to: name)
    }

    private struct Unfound: Error, CustomStringConvertible { let description: String }
}
