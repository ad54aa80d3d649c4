internal import Bytes
internal import Foundation
internal import Hashing
internal import Sealing

/// What was ever sealed, as it lies in the files of stores and of their backups, old pages of LMDB included. It is found by the
/// bytes alone, as the page FileFormat says they are: nothing of a store's own reading is asked.
package struct Envelopes {
    /// Sixteen random bytes.
    private struct Salt: Hashable {
        let first: UInt64
        let second: UInt64

        init(_ bytes: [UInt8], at offset: Int) {
            (first, second) = (bytes.lent.load(UInt64.self, at: offset), bytes.lent.load(UInt64.self, at: offset + 8))
        }
    }

    private struct Ring: Hashable {
        let file: [UInt8]
        let secret: [UInt8]
    }

    /// What each salt was used for.
    private var sealed: [Salt: UInt64] = [:]
    /// Blocks that were looked at: by their links.
    private var blocks: Set<Salt> = []
    private var rings: [Ring: KeyRing] = [:]
    /// What nobody may find in the clear.
    private let canary: [UInt8]
    package private(set) var problems: [String] = []
    /// Records, and parts of them that somebody may forget.
    package private(set) var records = 0
    package private(set) var personal = 0

    package init(canary: String) { self.canary = Array(canary.utf8) }

    /// Looks through every file below a directory.
    /// - Parameters:
    ///   - secret: what opens its keys.
    ///   - named: what is told of every canary that lies there in the clear: the file, and the bytes from the canary on.
    package mutating func collect(_ directory: String, secret: [UInt8], named: (_ file: String, _ text: String) -> Void) throws {
        let names = try FileManager.default.subpathsOfDirectory(atPath: directory).sorted { first, _ in first == "keys" }
        for name in names {
            var isDirectory: ObjCBool = false
            _ = unsafe FileManager.default.fileExists(atPath: directory + "/" + name, isDirectory: &isDirectory)
            if isDirectory.boolValue || name.hasSuffix("lock.mdb") { continue }
            let bytes = [UInt8](try Data(contentsOf: URL(filePath: directory + "/" + name)))
            for place in bytes.places(of: canary) {
                named(name, String(decoding: bytes[place ..< min(place + 64, bytes.count)], as: UTF8.self))
            }
            for place in bytes.places(of: Array("evk\u{1}".utf8)) { learnKeys(bytes, at: place, secret) }
            for place in bytes.places(of: Array("evstore subjects 1".utf8)) { noteSubjects(bytes, at: place) }
            for place in bytes.places(of: Array("evb\u{2}".utf8)) { try take(bytes, at: place, name) }
            for place in bytes.places(of: Array(#"{"sealed":""#.utf8)) { noteLine(bytes, at: place + 11, name) }
        }
    }

    /// A salt that was there before, for other bytes.
    private mutating func note(_ salt: Salt, _ bytes: RawSpan, _ what: @autoclosure () -> String) {
        let code = checksum(bytes)
        if let known = sealed.updateValue(code, forKey: salt), known != code { problems.append("a salt was used twice: \(what())") }
    }

    // MARK: Keys

    private mutating func learnKeys(_ bytes: [UInt8], at place: Int, _ secret: [UInt8]) {
        guard place + 64 <= bytes.count else { return }
        let count = Int(bytes.lent.load(UInt32.self, at: place + 4))
        let end = place + 64 + count * 128 + 32
        guard count <= 120, end <= bytes.count else { return }
        let ring = Ring(file: Array(bytes[place ..< end]), secret: secret)
        if rings[ring] != nil { return }
        guard let key = SecretKey(secret) else { return }
        // What only begins like one, or is another store's, opens nothing.
        do { rings[ring] = try KeyRing(opening: KeyFile(ring.file), with: .key(key)) } catch { return }
        for entry in 0 ..< count {
            let start = place + 64 + entry * 128
            note(Salt(bytes, at: start + 24), bytes.lent.slice(start + 40, 48), "entry \(entry) of a file of keys")
        }
    }

    private mutating func noteSubjects(_ bytes: [UInt8], at place: Int) {
        var start = place + 128
        // The file may go on with something else: its slots end where these bytes are not zero, or say another state.
        while start + 128 <= bytes.count, bytes[start] <= 3, bytes[start + 1 ..< start + 8].allSatisfy({ $0 == 0 }) {
            // Those that were forgotten or lost have no key.
            if bytes[start] == 1 { note(Salt(bytes, at: start + 24), bytes.lent.slice(start + 40, 48), "a subject's key") }
            start += 128
        }
    }

    // MARK: Blocks

    private mutating func take(_ bytes: [UInt8], at place: Int, _ file: String) throws {
        guard place + 96 <= bytes.count else { return }
        let count = Int(bytes.lent.load(UInt32.self, at: place + 44))
        guard count >= 96, place + count <= bytes.count else { return }
        let link = Salt(bytes, at: place + 48)
        if blocks.contains(link) { return }
        let block = Array(bytes[place ..< place + count])
        // A part of an old page may have been written over.
        guard checksum(block.lent.slice(0, count - 8)) == block.lent.load(UInt64.self, at: count - 8) else { return }
        blocks.insert(link)
        guard block.lent.load(UInt32.self, at: 80) & 1 == 1 else { return problems.append("\(file): a block is not sealed") }
        let (events, offsets) = (Int(block.lent.load(UInt32.self, at: 40)), Int(block.lent.load(UInt32.self, at: 84)))
        let starts = (0 ..< events).map { Int(block.lent.load(UInt32.self, at: offsets + $0 * 8)) }
        if block.lent.load(UInt32.self, at: 80) & 4 != 0 { return takeWhole(block, starts, file) }
        for (index, start) in starts.enumerated() { try take(block, index, record: start, file) }
    }

    /// One envelope behind the records of a block, with the parts of all of them.
    private mutating func takeWhole(_ block: [UInt8], _ starts: [Int], _ file: String) {
        let (first, last) = (block.lent.load(UInt64.self, at: 16), starts[starts.count - 1])
        let start = last + 60 + Int(block[last + 58]) + Int(block[last + 59])
        let envelope = Array(block[start ..< block.count - (block.lent.load(UInt32.self, at: 80) & 2 == 0 ? 8 : 24)])
        let what = "the block at \(first) in epoch \(block.lent.load(UInt32.self, at: 4)) (\(file))"
        records += starts.count
        noteEnvelope(envelope, what)
        let place = Array(block[4 ..< 8]) + [0, 0, 0, 0] + Array(block[16 ..< 24])
        guard let id = Envelope.keyID(of: envelope.lent) else { return problems.append("\(what) has no envelope") }
        for (ring, keys) in rings where ring.file[16 ..< 24].elementsEqual(block[8 ..< 16]) {
            guard let key = keys.dataKey(id) else { continue }
            var sealer = BlockSealer()
            var room = ByteBuffer()
            let associated = Array(ring.file[16 ..< 32]) + place + Array(block[..<44]) + Array(block[80 ..< start])
            do { try sealer.open(envelope.lent, under: key, associated.lent, into: &room) } catch { continue }
            var inside = room.array()[...]
            for index in starts.indices {
                guard let parts = OpenedParts(Array(inside).lent) else { return problems.append("\(what) has less than its events") }
                noteInside(parts, Array(inside.dropFirst(16).prefix(parts.count)), "event \(index) of \(what)")
                inside = inside.dropFirst(16 + parts.count)
            }
            if !inside.isEmpty { problems.append("\(what) has more than its events") }
            return
        }
        problems.append("\(what) opens with no key")
    }

    private mutating func take(_ block: [UInt8], _ index: Int, record start: Int, _ file: String) throws {
        let count = Int(block.lent.load(UInt32.self, at: start + 48))
        let head = 60 + Int(block[start + 58]) + Int(block[start + 59])
        let envelope = Array(block[start + head ..< start + head + count])
        let position = block.lent.load(UInt64.self, at: 16) + UInt64(index)
        let what = "the event at \(position) in epoch \(block.lent.load(UInt32.self, at: 4)) (\(file))"
        records += 1
        noteEnvelope(envelope, what)
        // The place, then the record before its payload with no lengths.
        var place = Array(block[4 ..< 8]) + [0, 0, 0, 0] + (0 ..< 8).map { UInt8(truncatingIfNeeded: position >> (8 * $0)) }
        place += Array(block[start ..< start + 48]) + [UInt8](repeating: 0, count: 8) + Array(block[start + 56 ..< start + head])
        guard let id = Envelope.keyID(of: envelope.lent) else { return problems.append("\(what) has no envelope") }
        for (ring, keys) in rings where ring.file[16 ..< 24].elementsEqual(block[8 ..< 16]) {
            guard let key = keys.dataKey(id), let inside = open(envelope, key, Array(ring.file[16 ..< 32]) + place) else { continue }
            return noteInside(inside.parts, inside.bytes, what)
        }
        problems.append("\(what) opens with no key")
    }

    private func open(_ envelope: [UInt8], _ key: DataKey, _ associated: [UInt8]) -> (parts: OpenedParts, bytes: [UInt8])? {
        var sealer = RecordSealer()
        var room = ByteBuffer()
        do { return (try sealer.open(envelope.lent, under: key, associated.lent, into: &room), room.array()) } catch { return nil }
    }

    private mutating func noteInside(_ parts: OpenedParts, _ bytes: [UInt8], _ what: String) {
        if !bytes.places(of: canary).isEmpty { problems.append("\(what) shows a canary beside its personal part") }
        if parts.personal == 0 { return }
        personal += 1
        let start = parts.payload + parts.metadata + parts.shadow
        noteEnvelope(Array(bytes[start ..< start + parts.personal]), "\(what), its personal part")
    }

    private mutating func noteEnvelope(_ envelope: [UInt8], _ what: @autoclosure () -> String) {
        guard envelope.count >= 44 else { return problems.append("\(what()) is no envelope") }
        note(Salt(envelope, at: 12), envelope.lent, what())
        // With CBC the vector must be new, too.
        if envelope[1] == 1 { note(Salt(envelope, at: 28), envelope.lent, "\(what()), its vector") }
    }

    private mutating func noteLine(_ bytes: [UInt8], at start: Int, _ file: String) {
        let text = bytes[start...].prefix { $0 != 0x22 }
        guard let envelope = Data(base64Encoded: Data(text)) else { return problems.append("\(file): a sealed line is none") }
        noteEnvelope([UInt8](envelope), "a line of \(file)")
    }
}

extension [UInt8] {
    /// Where a pattern begins, each time.
    package func places(of pattern: [UInt8]) -> [Int] {
        var places: [Int] = []
        unsafe withUnsafeBytes { bytes in
            unsafe pattern.withUnsafeBytes { pattern in
                guard let base = bytes.baseAddress, let wanted = pattern.baseAddress else { return }
                var start = 0
                while start + pattern.count <= bytes.count,
                    let found = unsafe memchr(base + start, Int32(pattern[0]), bytes.count - start - pattern.count + 1)
                {
                    let place = unsafe UnsafeRawPointer(found) - base
                    if unsafe memcmp(base + place, wanted, pattern.count) == 0 { places.append(place) }
                    start = place + 1
                }
            }
        }
        return places
    }
}
