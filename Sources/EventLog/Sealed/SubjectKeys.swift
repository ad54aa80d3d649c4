internal import EventModel
internal import LMDB
internal import Sealing

/// The keys of subjects: one for each stream that has had personal data, in a file of slots (`SubjectSlot`) from byte 128 on.
/// A slot is read whenever its key is wanted, so that what another process has overwritten is gone here too.
///
/// Whoever adds or overwrites slots holds the log's write lock.
final class SubjectKeys: Sendable {
    static let fileName = "subjects"
    private static let magic = Array("evstore subjects 1\n".utf8)

    private struct State {
        /// Slots by the codes of their subjects, as far as the file was read: the newest of each.
        var numbers: [[UInt8]: UInt32] = [:]
        /// Subjects whose last key was forgotten.
        var gone: Set<[UInt8]> = []
        /// How many slots were read.
        var count: UInt32 = 0
        /// Not in the file yet.
        var pending: [SubjectSlot] = []
        /// Keys that were opened, with the slot that each was in.
        var opened: [UInt32: (slot: [UInt8], key: DataKey)] = [:]
    }

    private let store: String
    private let ring: KeyRing
    private let state = Monitor(State())
    private static let openedMax = 4_096
    private static let pendingMax = 256
    private static let slotsMax = 1 << 22

    private var path: String { store + "/" + Self.fileName }

    init(at store: String, _ ring: KeyRing) { (self.store, self.ring) = (store, ring) }

    // MARK: Reading

    /// The key of a slot; nil where it was forgotten.
    func key(_ number: UInt32, for position: Position) throws -> DataKey? {
        guard let slot = try written(number) else {
            throw EvstoreError.corruptBlock(
                position: position, reason: "the event at \(position) is of subject \(number), which has no key")
        }
        return try key(of: slot)
    }

    private func slot(_ number: UInt32) throws -> SubjectSlot? {
        try state.withLock({ $0.pending.first { $0.number == number } }) ?? written(number)
    }

    private func written(_ number: UInt32) throws -> SubjectSlot? {
        guard number > 0, try Directory.ownStatus(path) != nil else { return nil }
        let bytes = try File(path, .read).read(SubjectSlot.byteCount, at: Int(number) * SubjectSlot.byteCount)
        return bytes.count == SubjectSlot.byteCount ? SubjectSlot(number, bytes) : nil
    }

    private func key(of slot: SubjectSlot) throws -> DataKey? {
        if let known = state.withLock({ $0.opened[slot.number] }), known.slot == slot.bytes { return known.key }
        do throws(SealError) {
            let key = try ring.key(of: slot)
            state.withLock { state in
                if state.opened.count >= Self.openedMax { state.opened = [:] }
                state.opened[slot.number] = key.map { (slot.bytes, $0) }
            }
            return key
        } catch { throw damaged(error) }
    }

    private func damaged(_ error: SealError) -> EvstoreError {
        .storeDamaged(path: store, reason: "its file \(Self.fileName): \(error.reason)")
    }

    // MARK: Writing

    /// Forgets what a commit that failed had wanted, and learns what others have added.
    func begin() throws {
        state.withLock { state in
            for slot in state.pending { state.numbers[slot.code] = nil }
            state.pending = []
        }
        try learn()
    }

    /// The key of a stream's subject; a new one where it has none, which must be written before the commit.
    func key(for stream: StreamName) throws -> DataKey {
        let code = ring.code(ofSubject: Array(stream.text.utf8))
        if let number = state.withLock({ $0.numbers[code] }), let slot = try slot(number), slot.code == code,
            let key = try key(of: slot)
        {
            return key
        }
        // Few are looked through.
        if state.withLock({ $0.pending.count >= Self.pendingMax }) { try flush() }
        do throws(SealError) {
            let slot = try state.withLock { state throws(SealError) in
                let slot = try ring.newSubject(state.count + UInt32(state.pending.count) + 1, code: code)
                state.pending.append(slot)
                state.numbers[code] = slot.number
                return slot
            }
            guard let key = try ring.key(of: slot) else { throw .damaged("a new key is none") }
            return key
        } catch { throw damaged(error) }
    }

    /// Makes new keys durable: before anything that is sealed under them.
    func flush() throws {
        let (slots, count) = state.withLock { ($0.pending, $0.count) }
        if slots.isEmpty { return }
        let file = try open()
        try file.write(slots.flatMap(\.bytes), at: Int(count + 1) * SubjectSlot.byteCount)
        try file.sync()
        state.withLock { ($0.count, $0.pending) = (count + UInt32(slots.count), []) }
    }

    /// Overwrites the key of a stream's subject, durably; false where that was done before, nil where it never had one.
    func forget(_ stream: StreamName) throws -> Bool? {
        try begin()
        let code = ring.code(ofSubject: Array(stream.text.utf8))
        guard let number = state.withLock({ $0.numbers[code] }), let slot = try slot(number) else {
            guard state.withLock({ $0.gone.contains(code) }) else { return nil }
            // Whoever was ended before its sync had said nothing.
            try File(path, .write).sync()
            return false
        }
        guard try key(of: slot) != nil else {
            try File(path, .write).sync()
            return false
        }
        let file = try File(path, .write)
        try file.write(ring.forgotten(slot).bytes, at: Int(number) * SubjectSlot.byteCount)
        try file.sync()
        state.withLock { state in
            (state.opened[number], state.numbers[code]) = (nil, nil)
            state.gone.insert(code)
        }
        return true
    }

    private func learn() throws {
        guard try Directory.ownStatus(path) != nil else { return }
        let file = try File(path, .read)
        let bytes = try file.status().bytes
        let known = state.withLock { $0.count }
        let count = max(0, bytes / SubjectSlot.byteCount - 1)
        guard count > known else { return }
        guard count <= Self.slotsMax else { throw damaged(.damaged("it has more than \(Self.slotsMax) subjects")) }
        // Order: what another process was ended in the middle of is durable before anything is sealed under it.
        try file.sync()
        guard try file.read(Self.magic.count) == Self.magic else { throw damaged(.damaged("it is none of subjects")) }
        let added = try file.read((count - Int(known)) * SubjectSlot.byteCount, at: Int(known + 1) * SubjectSlot.byteCount)
        let slots = (0 ..< added.count / SubjectSlot.byteCount).map { index in
            SubjectSlot(known + UInt32(index) + 1, Array(added[index * SubjectSlot.byteCount ..< (index + 1) * SubjectSlot.byteCount]))
        }
        state.withLock { state in
            for slot in slots {
                state.numbers[slot.code] = slot.isForgotten ? nil : slot.number
                if slot.isForgotten { state.gone.insert(slot.code) }
            }
            state.count = known + UInt32(slots.count)
        }
    }

    private func open() throws -> File {
        let file = try File(path, .create)
        if try file.status().bytes >= SubjectSlot.byteCount { return file }
        // New, or whoever made it was ended before it was one.
        try file.write(Self.magic + [UInt8](repeating: 0, count: SubjectSlot.byteCount - Self.magic.count))
        try file.sync()
        try Directory.sync(store)
        return file
    }

    // MARK: Copies

    /// The bytes of the file, in parts; nothing where no subject has a key.
    func copy(_ take: ([UInt8]) throws -> Void) throws {
        guard try Directory.ownStatus(path) != nil else { return }
        let file = try File(path, .read)
        let count = try file.status().bytes
        for start in stride(from: 0, to: count, by: 1 << 20) { try take(file.read(min(1 << 20, count - start), at: start)) }
    }

    /// Writes the next part of a copy.
    func put(_ bytes: [UInt8]) throws {
        let file = try File(path, .create)
        try file.write(bytes, at: file.status().bytes)
        try file.sync()
    }
}
