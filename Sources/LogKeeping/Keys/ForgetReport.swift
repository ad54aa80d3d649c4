public import EventModel

/// What was forgotten.
public struct ForgetReport: Hashable, Sendable {
    public var forgotten: [StreamName] = []
    /// What was forgotten earlier.
    public var before: [StreamName] = []
    /// Streams that never had personal data.
    public var unknown: [StreamName] = []
    /// How many read models were taken away; each is built anew when it is asked for.
    public var readModels = 0
    /// How many lines of archives, and of what a salvage could not confirm, were written anew without it.
    public var lines = 0
    /// Those files, by their names below the store, that have lines which can't be read, and may hold it still.
    public var archives: [String] = []
    /// Copies of the store that others work with just now, such as a drill's; each goes when they end.
    public var inUse: [String] = []
    /// The kind of file system the store lies on, where that has copies of what is overwritten: there the keys may be on the disk for some
    /// time, wrapped under the store's master key.
    public var fileSystem: String?

    public init() {}
}
