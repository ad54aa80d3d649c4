package import Bytes
package import EventLog
package import EventModel
internal import FoundationEssentials
internal import JSONText

/// An event line in the files of a store whose events are sealed: `{"sealed":"<envelope in base64>","epoch":1,"position":12}`. `import`
/// into that store opens it.
package struct SealedLine {
    package static let beginning = Array(#"{"sealed":""#.utf8)
    private let envelope: Data
    package let epoch: Epoch
    package let position: Position

    /// The largest size of a sealed line whose content has `count` bytes.
    package static func bytesMax(of count: Int) -> Int { (count + 1_024) / 3 * 4 + 1_024 }

    /// Parses a sealed line; nil where the line is not one.
    package init?(_ line: RawSpan) {
        guard line.byteCount > Self.beginning.count, line.slice(0, Self.beginning.count).equals(Self.beginning.lent) else { return nil }
        let value: JSONValue
        do { value = try JSONValue(parsing: line, limits: JSONLimits(depth: 1, members: 3, bytes: .max)) } catch { return nil }
        let fields = JSONRow(value)
        guard let text = fields.text("sealed"), let envelope = Data(base64Encoded: text), let position = fields.number("position"),
            let epoch = fields.number("epoch").flatMap(UInt32.init(exactly:))
        else { return nil }
        (self.envelope, self.epoch, self.position) = (envelope, Epoch(epoch), Position(position))
    }

    /// The slot of the file's key; nil where the key is derived from the master key.
    var slot: UInt32? { LineSealer.slot(of: Array(envelope).lent) }

    /// Appends the original line.
    /// - Parameter sealer: nil where the store's events are not sealed.
    /// - Throws: `EvstoreError.invalidLine`.
    package func open(by sealer: LineSealer?, into line: inout ByteBuffer) throws(EvstoreError) {
        guard let sealer else {
            throw .invalidLine(reason: "was sealed by another store: this one has no keys", pointer: "/sealed")
        }
        try sealer.open(Array(envelope).lent, epoch, position, into: &line)
    }

    /// Seals an event line and appends the result, without a line feed.
    package static func write(
        _ line: RawSpan, _ epoch: Epoch, _ position: Position, by sealer: LineSealer, into output: inout ByteBuffer
    ) throws(EvstoreError) {
        var envelope = ByteBuffer(capacity: line.byteCount + 128)
        try sealer.seal(line, epoch, position, into: &envelope)
        output.append(beginning)
        output.append(Data(envelope.array()).base64EncodedString())
        output.append("\",\"epoch\":")
        output.append(digits: UInt64(epoch.rawValue))
        output.append(",\"position\":")
        output.append(digits: position.rawValue)
        output.append("}")
    }
}
