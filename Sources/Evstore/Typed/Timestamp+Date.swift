public import EventModel
public import FoundationEssentials

extension Timestamp {
    /// The moment of a date, to the microsecond; the nearest possible timestamp where the date lies outside the range.
    public init(_ date: Date) {
        let microseconds = (date.timeIntervalSince1970 * 1e6).rounded()
        self.init(microseconds: Int64(exactly: microseconds) ?? (microseconds < 0 ? .min : .max))
    }

    public var date: Date { Date(timeIntervalSince1970: Double(microseconds) / 1e6) }
}
