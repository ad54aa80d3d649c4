package import EventModel
internal import FoundationEssentials
internal import Platform

/// Where a command writes what it makes of a store.
package enum TargetPath {
    /// Requires a path outside the store's own directory, where the next program would take it for a part of the store.
    /// - Throws: `EvstoreError.usage`.
    package static func require(_ path: String, outside store: String) throws(EvstoreError) {
        guard !path.isEmpty else { throw .usage("the path is empty: name a directory") }
        guard !isInside(path, store) else {
            throw .usage("\(path) lies in the directory of the store \(store): name a place outside it")
        }
    }

    /// Whether a path is one below a directory, with links resolved.
    static func isInside(_ path: String, _ directory: String) -> Bool {
        let outer = resolved(directory)
        // Links in a path that does not exist yet may stay, so the parent is resolved as well.
        let inner = [resolved(path), resolved(Directory.parent(of: path)) + [Directory.name(of: path)]]
        return inner.contains { $0.count > outer.count && $0.starts(with: outer) }
    }

    private static func resolved(_ path: String) -> [String] {
        URL(filePath: path).resolvingSymlinksInPath().standardizedFileURL.pathComponents.filter { $0 != "/" && !$0.isEmpty }
    }
}
