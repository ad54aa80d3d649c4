package import EventModel
package import Hashing

/// Against what an append was checked: it stands as long as none of these has changed.
package struct StateStamp: Hashable, Sendable {
    package var floor, live, top, head: SchemaVersion
    package var history: Digest

    package init(floor: SchemaVersion, live: SchemaVersion, top: SchemaVersion, head: SchemaVersion, history: Digest) {
        (self.floor, self.live, self.top, self.head, self.history) = (floor, live, top, head, history)
    }
}

/// The numbers of a store, changed only with what they describe.
package struct StoreState: Hashable, Sendable {
    package internal(set) var storeID: StoreID
    package internal(set) var format: Int
    package internal(set) var epoch: Epoch
    package var floor, live, top, head: SchemaVersion
    /// Of all registered version files and projection definitions.
    package var history: Digest
    /// Fingerprint in hexadecimal to the name of the directory in use.
    package var generations: [String: String]
    /// Up to where the log's indexes are written to their tables.
    package internal(set) var indexed: Position

    package var stamp: StateStamp {
        StateStamp(floor: floor, live: live, top: top, head: head, history: history)
    }
}

/// Rows that upper rooms keep in the log's environment: the log knows the keys' order, not their meaning.
package enum Catalogue: String, CaseIterable, Sendable {
    case schemas, definitions, imports, journal, snapshots, notes
}
