package import Bytes
package import EventModel
internal import JSONText

/// One event as one line of JSON text, the form of exports and archives:
/// `{"stream","type","data","id","time","metadata","version","position","revision","born","part","epoch"}`,
/// `metadata` where there is some, `part` above 0, `epoch` above 1.
package struct EventLine: Sendable {
    package var stream: String
    package var type: String
    package var id: String
    package var time: Timestamp
    package var position: Position
    package var revision: Revision
    package var born: SchemaVersion
    /// The version it is shown at.
    package var version: SchemaVersion
    package var part: Int
    package var epoch: Epoch

    package init(
        stream: String, type: String, id: String, time: Timestamp, position: Position, revision: Revision, born: SchemaVersion,
        version: SchemaVersion, part: Int = 0, epoch: Epoch
    ) {
        (self.stream, self.type, self.id, self.time) = (stream, type, id, time)
        (self.position, self.revision, self.born) = (position, revision, born)
        (self.version, self.part, self.epoch) = (version, part, epoch)
    }

    /// Writes the line, without a line feed. A part after the first has the id of its event with `#` and its number.
    package func write(payload: RawSpan, metadata: RawSpan, into output: inout ByteBuffer) {
        output.append("{\"stream\":")
        appendQuoted(Array(stream.utf8).lent, into: &output)
        output.append(",\"type\":")
        appendQuoted(Array(type.utf8).lent, into: &output)
        output.append(",\"data\":")
        appendOnOneLine(payload, into: &output)
        output.append(",\"id\":")
        appendQuoted(Array((part == 0 ? id : "\(id)#\(part)").utf8).lent, into: &output)
        output.append(",\"time\":\"\(time)\"")
        if metadata.byteCount > 0 {
            output.append(",\"metadata\":")
            appendOnOneLine(metadata, into: &output)
        }
        output.append(",\"version\":\(version.rawValue),\"position\":\(position),\"revision\":\(revision),\"born\":\(born.rawValue)")
        if part > 0 { output.append(",\"part\":\(part)") }
        if epoch > .first { output.append(",\"epoch\":\(epoch)") }
        output.append("}")
    }
}

/// Copies valid JSON text with each line break as a space: inside strings they are escaped, so it means the same.
private func appendOnOneLine(_ text: RawSpan, into output: inout ByteBuffer) {
    var start = 0
    for index in 0 ..< text.byteCount {
        let byte = text.byte(at: index)
        guard byte == UInt8(ascii: "\n") || byte == UInt8(ascii: "\r") else { continue }
        output.append(text.slice(start, index - start))
        output.append(UInt8(ascii: " "))
        start = index + 1
    }
    output.append(text.slice(start, text.byteCount - start))
}
