package import EventModel
internal import FoundationEssentials
package import SchemaEvolution

/// The files that recording fixtures would write, compared with the existing ones.
package struct FixtureFiles: Sendable {
    package struct Change: Hashable, Sendable {
        package let file: String
        package let text: String
        /// The current contents of the file; nil if it is new.
        package let old: String?
        /// Whether the file depends only on released versions, so that it must never change.
        package let isFixed: Bool

        /// Whether the change only appends to the existing contents.
        package var isGrowth: Bool { old.map { text.hasPrefix($0) } ?? false }

        /// The first line that differs, before and after.
        package var difference: (line: Int, old: String?, new: String?) {
            let (a, b) = (Self.lines(old ?? ""), Self.lines(text))
            let same = zip(a, b).prefix { $0 == $1 }.count
            return (same + 1, same < a.count ? a[same] : nil, same < b.count ? b[same] : nil)
        }

        private static func lines(_ text: String) -> [String] { text.split(separator: "\n").map(String.init) }
    }

    /// The files whose contents differ from the expected ones.
    package private(set) var changes: [Change] = []
    package private(set) var unchanged = 0

    package init() {}

    package mutating func add(_ file: String, _ text: String, isFixed: Bool) throws(EvstoreError) {
        var old: String?
        if FileManager.default.fileExists(atPath: file) {
            old = String(decoding: try onFiles("reading \(file)") { try Data(contentsOf: URL(filePath: file)) }, as: UTF8.self)
        }
        if old == text { unchanged += 1 } else { changes.append(Change(file: file, text: text, old: old, isFixed: isFixed)) }
    }

    /// Adds the renderings of a directory's fixtures.
    package mutating func add(_ renderings: [FixtureRendering], _ history: History) throws(EvstoreError) {
        for rendering in renderings {
            let isFixed = history[rendering.born]?.isReleased == true && history[rendering.seen]?.isReleased == true
            try add(rendering.file, rendering.text, isFixed: isFixed)
        }
    }

    package func write() throws(EvstoreError) {
        for change in changes {
            let folder = change.file.split(separator: "/", omittingEmptySubsequences: false).dropLast().joined(separator: "/")
            try onFiles("writing \(change.file)") {
                try FileManager.default.createDirectory(atPath: folder, withIntermediateDirectories: true)
                try Data(change.text.utf8).write(to: URL(filePath: change.file), options: .atomic)
            }
        }
    }
}
