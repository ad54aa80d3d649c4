package import EventModel
package import Hashing

/// The four numbers of a store: `floor <= live <= top <= head`.
package struct VersionNumbers: Hashable, Sendable {
    /// The oldest version still promised.
    package var floor: SchemaVersion
    /// The version whose read models are the default.
    package var live: SchemaVersion
    /// The highest version that has been live since the floor moved.
    package var top: SchemaVersion
    /// The newest version the store knows.
    package var head: SchemaVersion

    package init(floor: SchemaVersion, live: SchemaVersion, top: SchemaVersion, head: SchemaVersion) {
        (self.floor, self.live, self.top, self.head) = (floor, live, top, head)
    }

    /// The numbers of a store without versions.
    static let none = VersionNumbers(floor: SchemaVersion(0), live: SchemaVersion(0), top: SchemaVersion(0), head: SchemaVersion(0))

    /// Whether `floor <= live <= top <= head`, as in every store.
    package var isInOrder: Bool { floor <= live && live <= top && top <= head }

    /// Whether a store with this many registered versions may have these numbers: all are registered versions, and 0 is none.
    package func fit(_ versions: Int) -> Bool {
        isInOrder && head.number <= versions && (floor > SchemaVersion(0) || versions == 0)
    }
}

extension VersionNumbers: CustomStringConvertible {
    package var description: String { "floor \(floor), live \(live), top \(top), head \(head)" }
}

/// A type with the numbers of a store, each under its own name.
package protocol VersionNumbered {
    var numbers: VersionNumbers { get set }
}

extension VersionNumbered {
    package var floor: SchemaVersion {
        get { numbers.floor }
        set { numbers.floor = newValue }
    }
    package var live: SchemaVersion {
        get { numbers.live }
        set { numbers.live = newValue }
    }
    package var top: SchemaVersion {
        get { numbers.top }
        set { numbers.top = newValue }
    }
    package var head: SchemaVersion {
        get { numbers.head }
        set { numbers.head = newValue }
    }
}

/// The state that an append was checked against: the check holds as long as none of it has changed.
package struct StateStamp: VersionNumbered, Hashable, Sendable {
    package var numbers: VersionNumbers
    package var history: Digest
}

/// The state of a store: its numbers, and what changes with them.
package struct StoreState: VersionNumbered, Hashable, Sendable {
    package internal(set) var storeID: StoreID
    package internal(set) var format: Int
    package var epoch: Epoch
    package var numbers: VersionNumbers
    /// The digest of all registered version files and projection definitions.
    package var history: Digest
    /// The name of the directory in use, by fingerprint in hexadecimal.
    package var generations: [String: String]
    /// How far the log's indexes are written to their tables.
    package var indexed: Position

    package var stamp: StateStamp { StateStamp(numbers: numbers, history: history) }
}

/// Tables that upper rooms keep in the log's environment: the log knows how their keys sort, and not what they mean.
package enum Catalogue: String, CaseIterable, Sendable {
    case schemas, definitions, imports, journal, snapshots, notes
}
