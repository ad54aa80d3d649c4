package import Bytes
package import EventModel
internal import JSONText

/// One event as one line of JSON text, the form of exports and archives:
/// `{"stream","type","data","id","time","metadata","version","position","revision","born","part","epoch"}`,
/// `metadata` where there is some, `part` above 0, `epoch` above 1.
package struct EventLine: Sendable {
    package var stream: StreamName
    package var type: String
    /// The id of the event; a part after the first has the event's id with `#` and the part's number.
    package var id: EventID
    package var time: Timestamp
    package var position: Position
    package var revision: Revision
    package var born: SchemaVersion
    /// The version that the event is shown at.
    package var version: SchemaVersion
    package var part: Int
    package var epoch: Epoch

    package init(
        stream: StreamName, type: String, id: EventID, time: Timestamp, position: Position, revision: Revision, born: SchemaVersion,
        version: SchemaVersion, part: Int = 0, epoch: Epoch
    ) {
        (self.stream, self.type, self.id, self.time) = (stream, type, id, time)
        (self.position, self.revision, self.born) = (position, revision, born)
        (self.version, self.part, self.epoch) = (version, part, epoch)
    }

    /// Writes the line without its line feed.
    package func write(payload: RawSpan, metadata: RawSpan, into output: inout ByteBuffer) {
        output.append("{\"stream\":")
        appendQuoted(stream.text, into: &output)
        output.append(",\"type\":")
        appendQuoted(type, into: &output)
        output.append(",\"data\":")
        output.append(onOneLine: payload)
        output.append(",\"id\":")
        output.append(quoted: id)
        output.append(",\"time\":")
        time.appendQuoted(to: &output)
        if metadata.byteCount > 0 {
            output.append(",\"metadata\":")
            output.append(onOneLine: metadata)
        }
        func add(_ name: String, _ number: UInt64) {
            output.append(name)
            output.append(digits: number)
        }
        add(",\"version\":", UInt64(version.rawValue))
        add(",\"position\":", position.rawValue)
        add(",\"revision\":", revision.rawValue)
        add(",\"born\":", UInt64(born.rawValue))
        if part > 0 { add(",\"part\":", UInt64(part)) }
        if epoch > .first { add(",\"epoch\":", UInt64(epoch.rawValue)) }
        output.append("}")
    }
}

extension ByteBuffer {
    package mutating func append(quoted id: EventID) {
        guard id.uuid != nil else { return appendQuoted(id.text, into: &self) }
        append(UInt8(ascii: "\""))
        id.append(to: &self)
        append(UInt8(ascii: "\""))
    }
}
