package import EventLog
public import EventModel

/// The four numbers of a store, `floor <= live <= top <= head`, and which life of the log they describe.
public struct StoreVersions: Sendable, Hashable {
    package var numbers: VersionNumbers
    public var epoch: Epoch

    public init(floor: SchemaVersion, live: SchemaVersion, top: SchemaVersion, head: SchemaVersion, epoch: Epoch) {
        self.init(VersionNumbers(floor: floor, live: live, top: top, head: head), epoch)
    }

    package init(_ numbers: VersionNumbers, _ epoch: Epoch) { (self.numbers, self.epoch) = (numbers, epoch) }

    /// The oldest version still promised.
    public var floor: SchemaVersion {
        get { numbers.floor }
        set { numbers.floor = newValue }
    }
    /// The version whose read models are the default.
    public var live: SchemaVersion {
        get { numbers.live }
        set { numbers.live = newValue }
    }
    /// The highest version that has been live since the floor moved.
    public var top: SchemaVersion {
        get { numbers.top }
        set { numbers.top = newValue }
    }
    /// The newest version the store knows.
    public var head: SchemaVersion {
        get { numbers.head }
        set { numbers.head = newValue }
    }
}
