/// The names of files that hold keys of personal data, or lines with such data: they are overwritten before they are removed. Databases are
/// not among them: their personal data is sealed under keys in such files.
package enum KeyedFiles {
    package static func isOne(_ name: String) -> Bool {
        [SubjectKeys.fileName, StoreKeys.fileName, ModelKeys.fileName].contains(name) || suffixes.contains { name.hasSuffix($0) }
    }

    /// Frames of backups, and event lines.
    private static let suffixes = [".evf", ".jsonl"]
}
