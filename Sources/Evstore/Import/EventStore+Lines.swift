internal import Bytes
public import EventModel

extension EventStore {
    /// Parses event lines (this product's or CloudEvents 1.0) into events to append, on the calling thread; empty lines are skipped.
    /// - Parameter file: the name that an error gives as the lines' place.
    /// - Throws: `EvstoreError.refusedLine` at the first line that is no event.
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
