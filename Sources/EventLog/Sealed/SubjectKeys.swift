internal import EventModel
internal import LMDB
internal import Sealing

/// The keys of subjects: one for each stream that has had personal data, in a file of slots (`SubjectSlot`) from byte 128 on.
/// A slot is read whenever its key is wanted, so that what another process has overwritten is gone here too.
///
/// Whoever adds or overwrites slots holds the log's write lock.
final class SubjectKeys: Sendable {
    static let fileName = "subjects"
    static let head: [UInt8] = magic + [UInt8](repeating: 0, count: SubjectSlot.byteCount - magic.count)
    private static let magic = Array("evstore subjects 1\n".utf8)

    private struct State {
        /// Slots by the codes of their subjects, as far as the file was read: the newest of each.
        var numbers: [[UInt8]: UInt32] = [:]
        /// The slots before those that are not forgotten: damaged or lost.
        var earlier: [[UInt8]: [UInt32]] = [:]
        /// Subjects whose last key was forgotten.
        var gone: Set<[UInt8]> = []
        /// How many slots were read.
        var count: UInt32 = 0
        /// Not in the file yet.
        var pending: [SubjectSlot] = []
        /// Keys that were opened, with the slot that each was in.
        var opened: [UInt32: (slot: [UInt8], key: DataKey)] = [:]

        /// - Parameter isGone: whether it is proved that its key is.
        mutating func learn(_ slot: SubjectSlot, isGone: Bool) {
            switch (slot.state, isGone) {
            case (.forgotten, true):
                numbers[slot.code] = nil
                gone.insert(slot.code)
            case (.lost, true): earlier[slot.code, default: []].append(slot.number)
            // A damaged one is told when its key is wanted.
            default:
                if let before = numbers.updateValue(slot.number, forKey: slot.code) { earlier[slot.code, default: []].append(before) }
            }
        }

        /// All slots of a subject that are not known to be forgotten, the newest one last.
        func slots(_ code: [UInt8]) -> [UInt32] { (earlier[code] ?? []) + [numbers[code]].compactMap(\.self) }
    }

    let store: String
    let ring: KeyRing
    private let state = Monitor(State())
    private static let openedMax = 4_096
    private static let pendingMax = 256
    static let slotsMax = 1 << 22

    var path: String { store + "/" + Self.fileName }

    init(at store: String, _ ring: KeyRing) { (self.store, self.ring) = (store, ring) }

    // MARK: Reading

    /// The key of a slot; nil where it was forgotten or lost.
    /// - Throws: `SlotDamage` where it is not as it was written, or not there.
    func key(_ number: UInt32) throws -> DataKey? { try proven(number).key }

    /// A slot that was proved, with its key.
    func proven(_ number: UInt32) throws -> (slot: SubjectSlot, key: DataKey?) {
        guard var slot = try written(number), !slot.isBlank else { throw SlotDamage(number, "is missing") }
        while true {
            do { return (slot, try key(of: slot)) } catch let damage as SlotDamage {
                // Another process may have been in the middle of overwriting it: two looks have to agree.
                guard let again = try written(number), again.bytes != slot.bytes else { throw damage }
                slot = again
            }
        }
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
        let key = try prove(slot)
        state.withLock { state in
            if state.opened.count >= Self.openedMax { state.opened = [:] }
            state.opened[slot.number] = key.map { (slot.bytes, $0) }
        }
        return key
    }

    /// - Throws: `SlotDamage`.
    func prove(_ slot: SubjectSlot) throws -> DataKey? {
        do throws(SealError) { return try ring.key(of: slot) } catch { throw SlotDamage(slot.number, error.reason, code: slot.code) }
    }

    func damaged(_ reason: String) -> EvstoreError { .storeDamaged(path: store, reason: "its file \(Self.fileName) \(reason)") }

    // MARK: Writing

    /// Forgets what a commit that failed had wanted, and learns what others have added.
    func begin() throws {
        state.withLock { state in
            for slot in state.pending { state.numbers[slot.code] = nil }
            state.pending = []
        }
        try learn()
    }

    /// The key of a stream's subject; a new one where it has none that is whole, which must be written before the commit.
    func key(for stream: StreamName) throws -> DataKey {
        let code = ring.code(ofSubject: Array(stream.text.utf8))
        if let number = state.withLock({ $0.numbers[code] }), let slot = try slot(number), slot.code == code,
            let key = try wholeKey(of: slot)
        {
            return key
        }
        // Few are looked through.
        if state.withLock({ $0.pending.count >= Self.pendingMax }) { try flush() }
        let slot = try add { number throws(SealError) in try ring.newSubject(number, code: code) }
        guard let key = try wholeKey(of: slot) else { throw damaged("gives no key to slot \(slot.number)") }
        return key
    }

    /// Nil where it is gone: what was sealed under a damaged one is told of when it is read, and what comes is not held up.
    private func wholeKey(of slot: SubjectSlot) throws -> DataKey? {
        do { return try key(of: slot) } catch is SlotDamage { return nil }
    }

    /// Says that a stream had a key which was lost.
    func lose(_ stream: StreamName) throws {
        let code = ring.code(ofSubject: Array(stream.text.utf8))
        _ = try add { number throws(SealError) in ring.lost(number, code: code) }
    }

    private func add(_ make: (UInt32) throws(SealError) -> SubjectSlot) throws -> SubjectSlot {
        let number = state.withLock { $0.count + UInt32($0.pending.count) + 1 }
        guard number <= Self.slotsMax else {
            throw EvstoreError.usage("a store has keys for the personal data of at most \(Self.slotsMax) streams")
        }
        let slot: SubjectSlot
        do throws(SealError) { slot = try make(number) } catch { throw damaged(error.reason) }
        state.withLock { state in
            state.pending.append(slot)
            state.learn(slot, isGone: slot.state == .lost)
        }
        return slot
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

    /// Overwrites the keys of a stream's subject, durably; false where that was done before, nil where it never had one.
    func forget(_ stream: StreamName) throws -> Bool? {
        try begin()
        let code = ring.code(ofSubject: Array(stream.text.utf8))
        let (slots, isGone) = state.withLock { ($0.slots(code), $0.gone.contains(code)) }
        if slots.isEmpty, !isGone {
            // A damaged one may have been this stream's.
            if let damage = try damages().first {
                throw damaged("has a slot \(damage.number) that \(damage.reason): whose it was is not known")
            }
            return nil
        }
        let file = try File(path, .write)
        var isNew = false
        for number in slots where try !isForgotten(number) {
            // Order: the newest one comes last, so that who was ended before it finds it again.
            try file.write(ring.forgotten(number, code: code).bytes, at: Int(number) * SubjectSlot.byteCount)
            isNew = true
        }
        // Whoever was ended before its sync had said nothing.
        try file.sync()
        state.withLock { state in
            for number in slots { state.opened[number] = nil }
            (state.numbers[code], state.earlier[code]) = (nil, nil)
            state.gone.insert(code)
        }
        return isNew
    }

    private func isWithoutKey(_ slot: SubjectSlot) throws -> Bool {
        do { return try prove(slot) == nil } catch is SlotDamage { return false }
    }

    private func isForgotten(_ number: UInt32) throws -> Bool {
        do { return try proven(number).slot.state == .forgotten } catch is SlotDamage { return false }
    }

    private func learn() throws {
        guard try Directory.ownStatus(path) != nil else { return }
        let file = try File(path, .read)
        let known = state.withLock { $0.count }
        let count = try slots(in: file)
        guard count > known else { return }
        // Order: what another process was ended in the middle of is durable before anything is sealed under it.
        try file.sync()
        if let damage = try headDamage(file) { throw damaged(damage.reason) }
        try forEachSlot(of: file, after: known, through: count) { slot in
            if slot.isBlank { return }
            // Order: what only seems forgotten, torn or damaged, is not taken for it.
            let isGone = try slot.state != .live && isWithoutKey(slot)
            state.withLock { $0.learn(slot, isGone: isGone) }
        }
        state.withLock { $0.count = count }
    }

    private func open() throws -> File {
        let file = try File(path, .create)
        if try file.status().bytes >= SubjectSlot.byteCount { return file }
        // New, or whoever made it was ended before it was one.
        try file.write(Self.head)
        try file.sync()
        try Directory.sync(store)
        return file
    }
}
