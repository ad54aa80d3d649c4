package import EventModel
internal import LMDB
internal import Platform
package import Sealing

/// The keys of subjects: one for each stream that has had personal data, and one for each file of sealed lines, in a file of slots
/// (`SubjectSlot`) from byte 128 on.
/// A slot is read each time its key is needed, so that a key which another process has overwritten is gone here too; within one commit,
/// which holds the write lock, once for each stream.
///
/// A caller that adds or overwrites slots holds the log's write lock.
package final class SubjectKeys: Sendable {
    static let fileName = "subjects"
    static let head: [UInt8] = magic + [UInt8](repeating: 0, count: SubjectSlot.byteCount - magic.count)
    private static let magic = Array("evstore subjects 1\n".utf8)

    private struct State {
        /// Slots by the codes of their subjects, as far as the file was read: the newest of each.
        var numbers: [[UInt8]: UInt32] = [:]
        /// How many slots were read.
        var count: UInt32 = 0
        /// Not in the file yet.
        var pending: [SubjectSlot] = []
        /// Keys that were opened, with the slot that each was in.
        var opened: [UInt32: (slot: [UInt8], key: DataKey)] = [:]
        /// The keys that a commit has used: no slot changes while it holds the write lock.
        var used: [StreamName: DataKey] = [:]
        /// The file as it was opened last.
        var file: (file: File, status: FileStatus)?

        mutating func use(_ key: DataKey, for stream: StreamName) {
            if used.count >= SubjectKeys.openedMax { used = [:] }
            used[stream] = key
        }

        mutating func keep(_ key: DataKey?, in slot: SubjectSlot) {
            if opened.count >= SubjectKeys.openedMax { opened = [:] }
            opened[slot.number] = key.map { (slot.bytes, $0) }
        }

        /// Adds a slot by its own fields, unproved; damage is reported when its key is needed.
        mutating func learn(_ slot: SubjectSlot) {
            if slot.state != .lost { numbers[slot.code] = slot.number }
        }
    }

    let store: String
    package let ring: KeyRing
    private let state = Monitor(State())
    private static let openedMax = 4_096
    private static let pendingMax: UInt32 = 256
    static let slotsMax = 1 << 22

    var path: String { store + "/" + Self.fileName }

    init(at store: String, _ ring: KeyRing) { (self.store, self.ring) = (store, ring) }

    // MARK: Reading

    /// The file of slots as it was looked for once, for the keys of one block.
    struct Look {
        fileprivate var found: File??
    }

    /// The key of a slot; nil where it was forgotten or lost.
    /// - Throws: `SlotDamage` where it is not as it was written, or not there.
    func key(_ number: UInt32, _ look: inout Look) throws -> DataKey? {
        let file = try look.found ?? reading()
        look.found = .some(file)
        return try proven(number, in: file).key
    }

    /// A slot that was proved, with its key.
    package func proven(_ number: UInt32) throws -> (slot: SubjectSlot, key: DataKey?) { try proven(number, in: reading()) }

    private func proven(_ number: UInt32, in file: File?) throws -> (slot: SubjectSlot, key: DataKey?) {
        guard var slot = try written(number, in: file), !slot.isBlank else { throw SlotDamage(number, "is missing") }
        while true {
            do { return (slot, try key(of: slot)) } catch let damage as SlotDamage {
                // Another process may be overwriting it: two reads have to agree.
                guard let again = try written(number, in: file), again.bytes != slot.bytes else { throw damage }
                slot = again
            }
        }
    }

    private func slot(_ number: UInt32) throws -> SubjectSlot? {
        let pending = state.withLock { state in
            number > state.count && number - state.count <= state.pending.count ? state.pending[Int(number - state.count) - 1] : nil
        }
        return try pending ?? written(number)
    }

    private func written(_ number: UInt32) throws -> SubjectSlot? { try written(number, in: reading()) }

    private func written(_ number: UInt32, in file: File?) throws -> SubjectSlot? {
        guard number > 0, let file else { return nil }
        let bytes = try file.read(SubjectSlot.byteCount, at: Int(number) * SubjectSlot.byteCount)
        return bytes.count == SubjectSlot.byteCount ? SubjectSlot(number, bytes) : nil
    }

    /// The file, opened again where another one lies in its place; nil where there is none.
    private func reading() throws -> File? {
        guard let status = try Directory.ownStatus(path) else { return nil }
        if let (file, opened) = state.withLock({ $0.file }), (status.device, status.inode) == (opened.device, opened.inode) { return file }
        let file = try File(path, .read)
        let opened = try file.status()
        state.withLock { $0.file = (file, opened) }
        return file
    }

    private func key(of slot: SubjectSlot) throws -> DataKey? {
        if let known = state.withLock({ $0.opened[slot.number] }), known.slot == slot.bytes { return known.key }
        let key = try prove(slot)
        state.withLock { $0.keep(key, in: slot) }
        return key
    }

    /// - Throws: `SlotDamage`.
    func prove(_ slot: SubjectSlot) throws -> DataKey? {
        do throws(SealError) { return try ring.key(of: slot) } catch {
            var damage = SlotDamage(slot.number, error.reason, code: slot.code)
            damage.isOfLines = isOfLines(slot)
            throw damage
        }
    }

    // MARK: Writing

    /// Drops the new slots of a failed commit, and reads those that other processes have added.
    func begin() throws {
        state.withLock { state in
            for slot in state.pending { state.numbers[slot.code] = nil }
            (state.pending, state.used) = ([], [:])
        }
        try learn()
    }

    /// The key of a stream's subject; a new one where it has none that is whole, which must be written before the commit.
    func key(for stream: StreamName) throws -> DataKey {
        if let used = state.withLock({ $0.used[stream] }) { return used }
        let key = try lookUp(stream)
        state.withLock { $0.use(key, for: stream) }
        return key
    }

    private func lookUp(_ stream: StreamName) throws -> DataKey {
        let code = ring.code(ofSubject: Array(stream.text.utf8))
        if let number = state.withLock({ $0.numbers[code] }), let slot = try slot(number), slot.code == code,
            let key = try wholeKey(of: slot)
        {
            return key
        }
        // Order: what a power cut may leave in doubt is no more than is written at once.
        if state.withLock({ $0.pending.count >= Self.pendingMax }) { try flush() }
        return try addKey(code: { _ in code })
    }

    /// The key of a slot, nil where it is forgotten or damaged: damage is reported by reads, and does not stop appends.
    private func wholeKey(of slot: SubjectSlot) throws -> DataKey? {
        do { return try key(of: slot) } catch is SlotDamage { return nil }
    }

    /// Writes a slot that marks a stream's key as lost.
    package func lose(_ stream: StreamName) throws {
        add(ring.lost(try nextNumber(), code: ring.code(ofSubject: Array(stream.text.utf8))))
    }

    private func addKey(code: (UInt32) -> [UInt8]) throws -> DataKey {
        let number = try nextNumber()
        do throws(SealError) {
            let (slot, key) = try ring.newSubject(number, code: code(number))
            add(slot)
            state.withLock { $0.keep(key, in: slot) }
            return key
        } catch { throw damaged(error.reason) }
    }

    private func nextNumber() throws -> UInt32 {
        let number = state.withLock { $0.count + UInt32($0.pending.count) + 1 }
        guard number <= Self.slotsMax else {
            throw EvstoreError.usage("a store has keys for the personal data of at most \(Self.slotsMax) streams")
        }
        return number
    }

    private func add(_ slot: SubjectSlot) {
        state.withLock { state in
            state.pending.append(slot)
            state.learn(slot)
        }
    }

    /// Makes new keys durable: before anything that is sealed under them.
    package func flush() throws {
        let (slots, count) = state.withLock { ($0.pending, $0.count) }
        if slots.isEmpty { return }
        let file = try open()
        try file.write(slots.flatMap(\.bytes), at: Int(count + 1) * SubjectSlot.byteCount)
        try file.sync()
        state.withLock { ($0.count, $0.pending) = (count + UInt32(slots.count), []) }
    }

    /// Overwrites the keys of a stream's subject, durably; nil where it never had one.
    /// - Parameter named: the slots that the stream's events name, or why they can't be read.
    /// - Throws: that error, after the known slots are overwritten, since there may be more.
    func forget(_ stream: StreamName, named: Result<Set<UInt32>, any Error>) throws -> Forgotten? {
        try begin()
        let code = ring.code(ofSubject: Array(stream.text.utf8))
        var slots = try self.slots(code)
        // A slot with a damaged code names no stream, or another one.
        if case .success(let named) = named { slots += try named.subtracting(slots).sorted().filter(isDamaged) }
        var forgotten: Forgotten?
        if !slots.isEmpty {
            let new = try overwrite(slots.map { ($0, code) })
            forgotten = Forgotten(code: code, through: state.withLock { $0.count }, isNew: !new.isEmpty)
        }
        if case .failure(let error) = named, try slots.isEmpty || damages().contains(where: { !slots.contains($0.number) }) { throw error }
        return forgotten
    }

    /// The slots with a subject's code, as the file is now: slots that were read before may have been put back since.
    private func slots(_ code: [UInt8]) throws -> [UInt32] {
        guard try Directory.ownStatus(path) != nil else { return [] }
        let file = try File(path, .read)
        var slots: [UInt32] = []
        try forEachSlot(of: file, after: 0, through: self.slots(in: file)) { slot in
            if slot.code == code { slots.append(slot.number) }
        }
        return slots
    }

    /// Returns those that were not forgotten before.
    private func overwrite(_ slots: [(number: UInt32, code: [UInt8])]) throws -> Set<UInt32> {
        let file = try open()
        var new: Set<UInt32> = []
        for (number, code) in slots {
            if try !isForgotten(number) { new.insert(number) }
            // Written again also where it was before: after a failed sync a file reads as if it were on the disk.
            try file.write(ring.forgotten(number, code: code).bytes, at: Int(number) * SubjectSlot.byteCount)
        }
        // A process that was killed before this sync had reported nothing.
        try file.sync()
        state.withLock { state in
            for (number, _) in slots { state.opened[number] = nil }
            state.used = [:]
        }
        return new
    }

    // MARK: Keys of lines

    /// A new key for a file of lines, durable on return.
    func makeKeyOfLines() throws -> DataKey {
        try begin()
        let key = try addKey(code: ring.code(ofLines:))
        try flush()
        return key
    }

    /// Overwrites keys of lines, and those that a ledger names, durably; the slot's own fields say that it is one of lines.
    func forgetLines(_ numbers: Set<UInt32>, _ ledger: [ForgottenLedger.Entry]) throws -> [Forgotten] {
        try begin()
        let numbers = try numbers.union(revived(ledger).map(\.number))
        let slots = try numbers.sorted().compactMap { number in try written(number).flatMap { isOfLines($0) ? (number, $0.code) : nil } }
        if slots.isEmpty { return [] }
        let new = try overwrite(slots)
        return slots.map { number, code in Forgotten(code: code, through: number, isNew: new.contains(number)) }
    }

    func isOfLines(_ slot: SubjectSlot) -> Bool { slot.code == ring.code(ofLines: slot.number) }

    private func learn() throws {
        guard try Directory.ownStatus(path) != nil else { return }
        let known = state.withLock { $0.count }
        if try slots(in: File(path, .read)) == known { return }
        let file = try File(path, .write)
        let count = try slots(in: file)
        guard count > known else { return }
        if let damage = try headDamage(file) { throw damaged(damage.reason) }
        try rewriteSlots(of: file, from: max(known, count - min(count, Self.pendingMax)) + 1)
        try forEachSlot(of: file, after: known, through: count) { slot in
            if !slot.isBlank { state.withLock { $0.learn(slot) } }
        }
        state.withLock { $0.count = count }
    }

    /// Order: slots that a killed process has left are made durable before anything is sealed under them. They are written again, since
    /// after a failed sync a file reads as if it were on the disk. At most as many as are written at once can be in doubt.
    private func rewriteSlots(of file: File, from first: UInt32) throws {
        let offset = Int(first) * SubjectSlot.byteCount
        try file.write(file.read(Int(Self.pendingMax) * SubjectSlot.byteCount, at: offset), at: offset)
        try file.sync()
    }

    private func open() throws -> File {
        let file = try File(path, .create)
        if try slots(in: file) > 0 { return file }
        // Without a slot nobody knows whether the process that made the file finished its head.
        try file.write(Self.head)
        try file.sync()
        try Directory.sync(store)
        return file
    }
}
