package import EventModel
internal import Hashing

/// The changes that registering version files makes to a store's history.
package struct Registration: Sendable {
    package var history: History
    /// Versions that the store did not know.
    package var added: [VersionFile] = []
    /// Unreleased versions whose digest changed.
    package var replaced: [VersionFile] = []
    /// Versions with an unchanged digest whose labels, release or descriptions changed.
    package var annotated: [VersionFile] = []

    /// All versions to write.
    package var changed: [VersionFile] { (added + replaced + annotated).sorted { $0.number < $1.number } }
}

extension History {
    /// Adds version files to the known ones. A file whose digest differs from the known one's is refused, unless the known one was never
    /// released and `mayReplace` allows it.
    /// - Throws: `versionDiffers`, or `schemaInvalid` if the files together form no history.
    package func adding(
        _ files: [VersionFile], mayReplace: (VersionFile) -> Bool = { _ in false }
    ) throws(EvstoreError) -> Registration {
        var registration = Registration(history: self)
        var result = versions
        for file in files.sorted(by: { $0.number < $1.number }) {
            guard let known = self[file.number] else {
                registration.added.append(file)
                result.append(file)
                continue
            }
            if file.digest == known.digest {
                guard file != known, file.extends(known) else { continue }
                registration.annotated.append(file)
            } else {
                guard !known.isReleased, mayReplace(known) else {
                    throw .versionDiffers(file.number, file: file.digest.hex, stored: known.digest.hex)
                }
                registration.replaced.append(file)
            }
            result[file.number.number - 1] = file
        }
        registration.history = result.isEmpty ? .empty : try History(files: result).with(swiftSteps)
        return registration
    }
}

extension VersionFile {
    /// Whether the file keeps the labels and the release of `other`, so that an older checkout removes none.
    fileprivate func extends(_ other: VersionFile) -> Bool {
        Set(labels).isSuperset(of: other.labels) && (isReleased || !other.isReleased)
    }
}
