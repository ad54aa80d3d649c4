/// Which store it is, and in which format it was made.
struct StoreIdentity: Hashable, Sendable {
    let id: StoreID
    let format: Int

    /// Of a new store.
    init(new id: StoreID) { self.init(id: id, format: Manifest.format) }

    init(id: StoreID, format: Int) { (self.id, self.format) = (id, format) }

    /// Whether a `RowSeal` stands behind each value.
    var sealsRows: Bool { format >= 4 }
}
