/// Which of the files that are thrown away hold what opens personal data, or lines that say it: they are overwritten before they
/// go. What lies in databases is sealed under keys that lie in such files.
package enum KeyedFiles {
    package static func isOne(_ name: String) -> Bool {
        [SubjectKeys.fileName, StoreKeys.fileName, ModelKeys.fileName].contains(name) || suffixes.contains { name.hasSuffix($0) }
    }

    /// Of backups' frames, and of event lines.
    private static let suffixes = [".evf", ".jsonl"]
}
