public import EventModel

/// The result of forgetting the personal data of streams.
public struct ForgetReport: Hashable, Sendable {
    /// Streams whose data this call has made unreadable.
    public var forgotten: [StreamName] = []
    /// Streams that had been forgotten before this call.
    public var before: [StreamName] = []
    /// Streams without personal data in the log.
    public var unknown: [StreamName] = []
    /// How many read models were removed; each is built anew when a query needs it.
    public var readModels = 0
    /// How many lines of archives, and of the events that a salvage could not confirm, were rewritten without the data.
    public var lines = 0
    /// The paths, below the store, of files with lines that can't be read, which may still hold the data.
    public var archives: [String] = []
    /// Copies of the store that another process is using, such as a drill's; each is removed when that process ends.
    public var inUse: [String] = []
    /// Events that still show a personal member at the live version: they were written before the member was personal, or before the store
    /// was sealed, so that it is not separate from the rest of the payload.
    public var stillShown: [EventsOfStream] = []
    /// Forgotten events that have no image at the live version: a step can't convert the plainest value of a personal member.
    public var withoutImage: [EventsOfStream] = []
    /// The store's file system, if it keeps copies of overwritten bytes: the keys may stay on its disk for some time, wrapped under the
    /// store's master key. Nil if it keeps none.
    public var fileSystem: String?

    /// Some events of a stream.
    public struct EventsOfStream: Hashable, Sendable {
        public var stream: StreamName
        /// How many events there are.
        public var count = 0
        /// The position of the first of them.
        public var first: Position

        package init(_ stream: StreamName, first: Position) { (self.stream, self.first) = (stream, first) }
    }

    /// Whether nothing that this call has looked at may still show the data: no event, no archive, and no copy in use.
    public var isComplete: Bool { archives.isEmpty && inUse.isEmpty && stillShown.isEmpty && withoutImage.isEmpty }

    public init() {}
}
