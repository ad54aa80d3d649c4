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
    /// What adoption makes of it, where it is from before versions existed.
    var adopted: AdoptedLine?
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
        var parser = EventLineParser(options: options, takesOldData: door.takesOldData)
        for index in covered ..< ends.count where !isBlank(index) {
            let line = firstLine + UInt64(index)
            result.read += 1
            if refused.contains(line) { continue }
            do throws(EvstoreError) {
                let range = range(of: index)
                var event = try parser.parse(bytes.lent.slice(range.lowerBound, range.count), isValid: isChecked)
                let adopted = try door.adopt(&event, line: line)
                let stored: StoredEvent
                if isChecked {
                    stored = try door.stored(event)
                } else {
                    stored = try door.admit(event, isJSON: true)[0]
                    if try !door.isInItsStream(stored) { result.streamMismatches += 1 }
                }
                result.lines.append(
                    CheckedLine(
                        line: line, event: event, stored: stored, content: event.id == nil ? 0 : try event.contentChecksum(),
                        adopted: adopted))
            } catch {
                result.refused.append(RefusedLine(line: line, error: error))
            }
        }
        if !isChecked { result.refuseUnmerged(by: door) }
        return result
    }
}

extension CheckedChunk {
    /// Refuses lines that have no image beside those that they would be appended with, until all that are left have one.
    fileprivate mutating func refuseUnmerged(by door: Door) {
        while door.merges {
            var failures: [Int: EvstoreError] = [:]
            do { failures = try door.mergeFailures(of: lines.map(\.stored)) } catch {
                for index in lines.indices { failures[index] = error }
            }
            if failures.isEmpty { return }
            refused += failures.map { RefusedLine(line: lines[$0.key].line, error: $0.value) }
            lines = lines.indices.filter { failures[$0] == nil }.map { lines[$0] }
        }
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
