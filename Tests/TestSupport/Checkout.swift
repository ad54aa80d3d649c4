package import Foundation

/// The checkout that the tests were compiled from.
package enum Checkout {
    package static let root = URL(filePath: #filePath).deletingLastPathComponent().deletingLastPathComponent().deletingLastPathComponent()

    package static func url(_ name: String) -> URL { root.appending(path: name) }

    package static func path(_ name: String) -> String { url(name).path }

    /// What a file of it says.
    package static func text(_ name: String) throws -> String { try String(contentsOf: url(name), encoding: .utf8) }

    /// Whether lines that a document shows stand together in a source, however far they are indented.
    package static func stands(_ shown: String, in source: String) -> Bool {
        func lines(_ text: String) -> [String] {
            text.components(separatedBy: "\n").map { $0.trimmingCharacters(in: .whitespaces) }.filter { !$0.isEmpty }
        }
        let (shown, all) = (lines(shown), lines(source))
        return all.indices.contains { all[$0...].starts(with: shown) }
    }
}
