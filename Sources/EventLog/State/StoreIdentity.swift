/// A store's id and format, according to its manifest.
package struct StoreIdentity: Hashable, Sendable {
    package let id: StoreID
    /// The format of its rows and blocks (`layout` in the manifest).
    let format: Int
    /// Whether events may be only in `log/ahead` (`AheadBlocks`), where an older program would not see them.
    var goesAhead: Bool
    /// Whether envelopes replace the payloads.
    let isSealed: Bool

    /// Whether a `RowChecksum` follows each value.
    package var hasRowChecksums: Bool { format >= 4 }

    /// Whether the order of its events comes from elsewhere, as for a node or a replica.
    var isOrderedElsewhere: Bool { format == Manifest.layoutOrderedElsewhere }

    /// Whether new blocks are sealed as a whole, in place of each record by itself.
    var sealsBlocks: Bool { isSealed && format >= Manifest.formatWithSealedBlocks }

    /// Whether rows and blocks have codes (`StoreCodes`).
    var hasCodes: Bool { isSealed && format >= Manifest.formatWithCodes }
}
