internal import Bytes
internal import EventLog
internal import EventModel
internal import Hashing
internal import JSONText

/// One line of an input that may be appended.
struct CheckedLine: Sendable {
    var line: UInt64
    var event: NewEvent
    var stored: StoredEvent
    /// Where the line gives an id: a checksum over what the event says, in canonical form.
    var content: UInt64
}

/// A chunk of lines, read and checked by one worker.
struct CheckedChunk: Sendable {
    var lines: [CheckedLine] = []
    var refused: [RefusedLine] = []
    /// Lines that hold something.
    var read: UInt64 = 0
    var streamMismatches: UInt64 = 0
    /// Over the chunk's bytes, to find an input that changes while it is read twice.
    var checksum: UInt64
    var stamp: StateStamp
}

extension LineChunk {
    /// Reads the lines that no mark covers. `isChecked`: they all passed before, but for the lines `refused`.
    func check(by door: Door, options: Options, isChecked: Bool, refused: Set<UInt64>) -> CheckedChunk {
        var result = CheckedChunk(checksum: checksum(bytes.lent), stamp: door.stamp)
        var parser = EventLineParser(options: options)
        for index in covered ..< ends.count where !isBlank(index) {
            let line = firstLine + UInt64(index)
            result.read += 1
            if refused.contains(line) { continue }
            do throws(EvstoreError) {
                let range = range(of: index)
                let event = try parser.parse(bytes.lent.slice(range.lowerBound, range.count), isValid: isChecked)
                let stored: StoredEvent
                if isChecked {
                    stored = door.stored(event)
                } else {
                    stored = try door.admit(event, isJSON: true)[0]
                    if try !door.isInItsStream(stored) { result.streamMismatches += 1 }
                }
                result.lines.append(
                    CheckedLine(line: line, event: event, stored: stored, content: event.id == nil ? 0 : try event.contentChecksum()))
            } catch {
                result.refused.append(RefusedLine(line: line, error: error))
            }
        }
        return result
    }
}

extension NewEvent {
    /// A checksum over what the event says, however its JSON is written.
    func contentChecksum() throws(EvstoreError) -> UInt64 {
        var text = ByteBuffer(capacity: payload.count + 64)
        text.append(stream.text)
        text.append(UInt8(ascii: " "))
        text.append(type)
        text.append(UInt8(ascii: " "))
        do { try Canonical.write(payload.lent, into: &text) } catch { throw EvstoreError(converting: error) }
        return checksum(text.bytes)
    }
}
