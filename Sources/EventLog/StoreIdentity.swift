/// Which store it is, and in which format it was made.
struct StoreIdentity: Hashable, Sendable {
    let id: StoreID
    let format: Int
    /// Whether envelopes stand in the places of payloads.
    let isSealed: Bool

    /// Of a new store.
    init(new id: StoreID, isSealed: Bool) { self.init(id: id, format: Manifest.format, isSealed: isSealed) }

    init(id: StoreID, format: Int, isSealed: Bool) { (self.id, self.format, self.isSealed) = (id, format, isSealed) }

    /// Whether a `RowSeal` stands behind each value.
    var sealsRows: Bool { format >= 4 }
}
