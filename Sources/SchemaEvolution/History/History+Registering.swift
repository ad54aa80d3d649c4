package import EventModel
internal import Hashing

/// What registering some version files in a store's history changes.
package struct Registration: Sendable {
    package var history: History
    /// Versions that the store did not know.
    package var added: [VersionFile] = []
    /// Versions never released, whose digest changed.
    package var replaced: [VersionFile] = []
    /// Versions whose digest is the same and whose labels, release or descriptions are not.
    package var annotated: [VersionFile] = []

    /// The versions to write.
    package var changed: [VersionFile] { (added + replaced + annotated).sorted { $0.number < $1.number } }
}

extension History {
    /// Takes in version files beside those that are known. One whose digest differs from the known
    /// one's is refused unless that was never released and `mayReplace` allows it.
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
    /// Whether nothing that the other says of releases is lost: an older checkout takes no labels away.
    fileprivate func extends(_ other: VersionFile) -> Bool {
        Set(labels).isSuperset(of: other.labels) && (isReleased || !other.isReleased)
    }
}
