internal import EventLog
public import EventModel

/// The four version numbers of a store, `floor <= live <= top <= head`, and the epoch of the log that they describe.
public struct StoreVersions: Sendable, Hashable {
    /// The oldest version still promised.
    public var floor: SchemaVersion
    /// The version whose read models are the default.
    public var live: SchemaVersion
    /// The highest version that has been live since the floor moved.
    public var top: SchemaVersion
    /// The newest version the store knows.
    public var head: SchemaVersion
    public var epoch: Epoch

    public init(floor: SchemaVersion, live: SchemaVersion, top: SchemaVersion, head: SchemaVersion, epoch: Epoch) {
        (self.floor, self.live, self.top, self.head, self.epoch) = (floor, live, top, head, epoch)
    }

    init(_ state: StoreState) {
        self.init(floor: state.floor, live: state.live, top: state.top, head: state.head, epoch: state.epoch)
    }
}
