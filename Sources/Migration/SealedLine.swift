package import Bytes
package import EventLog
package import EventModel
internal import FoundationEssentials
internal import JSONText
internal import Platform

/// An event line in the files of a sealed store: `{"sealed":"<envelope in base64>","epoch":1,"position":12}`. Its `import` opens it.
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

/// A file of event lines beside the log of a sealed store; the lines of a file are sealed under the file's own key.
package struct SealedLineFile {
    private let path: String
    private static let bytesAtOnce = 1 << 20

    package init(_ path: String) { self.path = path }

    /// Removes files of lines after overwriting their keys.
    static func discard(_ paths: [String], of log: EventLog) async throws {
        try await forget(paths.reduce(into: []) { slots, path in slots.formUnion(try SealedLineFile(path).slots()) }, of: log)
        for path in paths { try SealedLineFile(path).remove() }
    }

    /// Overwrites the keys of lines. The ledger records a key before the last line that names it is removed.
    package static func forget(_ slots: Set<UInt32>, of log: EventLog) async throws {
        let forgotten = try log.forgetLines(slots)
        if !forgotten.isEmpty { try await log.update { update in try update.note(forgotten) } }
    }

    /// Overwrites and removes the file, if there is one.
    package func remove() throws {
        try Directory.removeFiles(in: Directory.parent(of: path), overwriting: true) { $0 == Directory.name(of: path) }
    }

    /// The slots that the lines name; empty where there is no file.
    package func slots() throws -> Set<UInt32> {
        guard try Directory.ownStatus(path)?.isFile == true else { return [] }
        var slots: Set<UInt32> = []
        try forEachLine { line in if let slot = SealedLine(line)?.slot { slots.insert(slot) } }
        return slots
    }

    /// Lends each line without its line feed.
    package func forEachLine(_ body: (RawSpan) throws -> Void) throws {
        let file = try File(path, .read)
        var (rest, offset, searched) = ([UInt8](), 0, 0)
        while true {
            let more = try file.read(Self.bytesAtOnce, at: offset)
            offset += more.count
            rest += more
            var start = 0
            while let end = rest[max(start, searched)...].firstIndex(of: UInt8(ascii: "\n")) {
                try body(rest.lent.slice(start, end - start))
                (start, searched) = (end + 1, end + 1)
            }
            rest.removeFirst(start)
            searched = rest.count
            if more.isEmpty {
                if !rest.isEmpty { try body(rest.lent) }
                return
            }
        }
    }
}
