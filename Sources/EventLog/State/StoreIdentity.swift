/// A store's id and format, as its manifest says them.
package struct StoreIdentity: Hashable, Sendable {
    package let id: StoreID
    /// The format of its rows and blocks (`layout` in the manifest).
    let format: Int
    /// Whether events may be in `log/ahead` alone (`AheadBlocks`), which an older program would not see.
    var goesAhead: Bool
    /// Whether envelopes stand in the places of payloads.
    let isSealed: Bool

    /// Whether a `RowChecksum` stands behind each value.
    package var hasRowChecksums: Bool { format >= 4 }

    /// Whether what is new in it is sealed block by block, and not record by record.
    var sealsBlocks: Bool { isSealed && format >= Manifest.formatWithSealedBlocks }

    /// Whether rows and blocks have codes (`StoreCodes`).
    var hasCodes: Bool { isSealed && format >= Manifest.formatWithCodes }
}
