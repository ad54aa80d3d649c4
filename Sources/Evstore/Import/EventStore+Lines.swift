internal import Bytes
public import EventModel

extension EventStore {
    /// What event lines (this product's or CloudEvents 1.0) say to append; empty lines say nothing.
    /// - Throws: `EvstoreError.refusedLine` at the first that is no event.
    public func events(ofLines text: [UInt8], of file: String? = nil) throws(EvstoreError) -> [NewEvent] {
        var parser = EventLineParser(options: options, takesOldData: false)
        var events: [NewEvent] = []
        for (index, line) in text.split(separator: UInt8(ascii: "\n"), omittingEmptySubsequences: false).enumerated()
        where line.contains(where: { $0 > UInt8(ascii: " ") }) {
            do { events.append(try parser.parse(Array(line).lent)) } catch { throw .refusedLine(UInt64(index) + 1, file: file, error) }
        }
        return events
    }
}
