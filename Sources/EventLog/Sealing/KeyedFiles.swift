/// Names the files that hold keys of personal data or lines with such data: they are overwritten before they are removed. Data
/// in databases is sealed under keys that lie in such files.
package enum KeyedFiles {
    package static func isOne(_ name: String) -> Bool {
        [SubjectKeys.fileName, StoreKeys.fileName, ModelKeys.fileName].contains(name) || suffixes.contains { name.hasSuffix($0) }
    }

    /// Of backups' frames, and of event lines.
    private static let suffixes = [".evf", ".jsonl"]
}
