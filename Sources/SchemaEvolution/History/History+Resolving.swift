package import EventModel

extension History {
    /// The version denoted by `v5`, `5` or the label `1.2.0`. An unlisted label resolves to the greatest listed label below it, unless it
    /// is above all of them: such a release is newer than these schemas.
    /// - Throws: `unknownVersion`, with all versions and their labels.
    package func resolve(_ text: String) throws(EvstoreError) -> SchemaVersion {
        let bare = text.hasPrefix("v") ? String(text.dropFirst()) : text
        guard let asked = DottedNumber(bare) else { throw unknown(text) }
        guard bare.contains(".") else {
            guard let number = Int(bare), number <= head.number else { throw unknown(text) }
            return SchemaVersion(number)
        }
        var best: (label: DottedNumber, version: SchemaVersion)?
        var newest: DottedNumber?
        for file in versions {
            for label in file.labels.compactMap(DottedNumber.init) {
                newest = max(newest ?? label, label)
                if label <= asked, best.map({ $0.label < label }) ?? true { best = (label, file.number) }
            }
        }
        guard let newest else { throw unknown(text) }
        guard asked <= newest else { throw unknown(text, hint: "\(bare) is newer than \(newest), the newest label known: upgrade") }
        guard let best else { throw unknown(text, hint: "\(bare) is older than every label") }
        return best.version
    }

    package func unknown(_ text: String, hint: String? = nil) -> EvstoreError {
        let known = versions.map { file in
            file.labels.isEmpty ? file.number.description : "\(file.number) (\(file.labels.joined(separator: ", ")))"
        }
        return .unknownVersion(text, known: known + (hint.map { [$0] } ?? []))
    }
}
