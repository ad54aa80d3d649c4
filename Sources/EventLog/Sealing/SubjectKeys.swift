internal import Bytes
package import EventModel
internal import LMDB
internal import Platform
package import Sealing

/// The keys of subjects: one for each stream that has had personal data, and one for each file of sealed lines, in a file of slots
/// (`SubjectSlot`) from byte 128 on. A slot is read each time its key is needed, so that a key which another process has overwritten is
/// gone here too; within one commit, which holds the write lock, it is read once for each stream.
///
/// Beside it the file `slot-codes` has a code of each slot (`KeyRing.code(of:)`), 16 bytes at 16 times its number, so that all slots are
/// proved in little time. It is never synced, and older programs neither read nor write it: a slot whose code is missing or does not fit
/// is proved by unwrapping its key.
///
/// A caller that adds or overwrites slots must hold the log's write lock.
package final class SubjectKeys: Sendable {
    static let fileName = "subjects"
    static let head: [UInt8] = magic + [UInt8](repeating: 0, count: SubjectSlot.byteCount - magic.count)
    private static let magic = Array("evstore subjects 1\n".utf8)

    /// How many slots the file has, and how many were handed out.
    struct Lack {
        var has: UInt32
        var handedOut: UInt32
    }

    private struct State {
        /// The newest slot of each subject, by the mark of the subject's code, as far as the file was read.
        var numbers: [UInt64: UInt32] = [:]
        var count: UInt32 = 0
        /// What the file lacked when the current commit began; nil where it has every slot that was handed out.
        var lack: Lack?
        /// Slots that are not in the file yet.
        var pending: [SubjectSlot] = []
        /// Opened keys, each with the bytes of its slot.
        var opened: [UInt32: (slot: [UInt8], key: DataKey)] = [:]
        /// The keys that the current commit has used: no slot changes while it holds the write lock.
        var used: [StreamName: DataKey] = [:]
        var file: (file: File, status: FileStatus)?

        mutating func use(_ key: DataKey, for stream: StreamName) {
            if used.count >= SubjectKeys.openedMax { used = [:] }
            used[stream] = key
        }

        mutating func keep(_ key: DataKey?, in slot: SubjectSlot) {
            if opened.count >= SubjectKeys.openedMax { opened = [:] }
            opened[slot.number] = key.map { (slot.bytes, $0) }
        }

        /// Adds a slot according to its own fields, without proof; damage is reported when its key is needed.
        mutating func learn(_ number: UInt32, _ slot: RawSpan) {
            if SubjectSlot.state(in: slot) != .lost { numbers[SubjectSlot.mark(in: slot)] = number }
        }
    }

    let store: String
    package let ring: KeyRing
    private let state = Monitor(State())
    private static let openedMax = 4_096
    private static let pendingMax: UInt32 = 256
    static let slotsMax = 1 << 22

    var path: String { store + "/" + Self.fileName }
    var codesPath: String { store + "/slot-codes" }

    init(at store: String, _ ring: KeyRing) { (self.store, self.ring) = (store, ring) }

    // MARK: Reading

    /// The file of slots, looked up once for the keys of one block.
    struct SlotLookup {
        fileprivate var found: File??
    }

    /// The key of a slot; nil where it was forgotten or lost.
    /// - Throws: `SlotDamage` where the slot differs from what was written, or is missing.
    func key(_ number: UInt32, _ look: inout SlotLookup) throws -> DataKey? {
        let file = try look.found ?? reading()
        look.found = .some(file)
        return try proven(number, in: file).key
    }

    /// A proved slot, with its key.
    package func proven(_ number: UInt32) throws -> (slot: SubjectSlot, key: DataKey?) { try proven(number, in: reading()) }

    private func proven(_ number: UInt32, in file: File?) throws -> (slot: SubjectSlot, key: DataKey?) {
        guard var slot = try written(number, in: file), !slot.isBlank else { throw SlotDamage(number, "is missing") }
        while true {
            do { return (slot, try key(of: slot)) } catch let damage as SlotDamage {
                // Another process may be overwriting the slot: damage counts only if two reads agree.
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

    /// The file, reopened if another one is in its place; nil where there is none.
    func reading() throws -> File? {
        guard let status = try Directory.ownStatus(path) else { return nil }
        if let (file, opened) = state.withLock({ $0.file }), (status.device, status.inode) == (opened.device, opened.inode) { return file }
        let file = try File(path, .read)
        let opened = try file.status()
        state.withLock { $0.file = (file, opened) }
        return file
    }

    /// - Throws: `SlotDamage`.
    private func key(of slot: SubjectSlot) throws -> DataKey? {
        if let known = state.withLock({ $0.opened[slot.number] }), known.slot == slot.bytes { return known.key }
        let key: DataKey?
        do throws(SealError) { key = try ring.key(of: slot) } catch {
            var damage = SlotDamage(slot.number, error.reason, code: slot.code)
            damage.isOfLines = isOfLines(slot)
            throw damage
        }
        state.withLock { $0.keep(key, in: slot) }
        return key
    }

    // MARK: Writing

    /// Drops the new slots of a failed commit, and reads those that other processes have added.
    /// - Parameter noted: how many slots were handed out according to the log.
    func begin(noted: UInt32) throws {
        let known = state.withLock { state in
            for slot in state.pending { state.numbers[slot.mark] = nil }
            (state.pending, state.used) = ([], [:])
            return state.count
        }
        let (count, handedOut) = (try learn(), max(known, noted))
        state.withLock { $0.lack = count < handedOut ? Lack(has: count, handedOut: handedOut) : nil }
    }

    /// How many slots of the file are known to be durable.
    var durableCount: UInt32 { state.withLock { $0.count } }

    /// The key of a stream's subject. If no undamaged key exists, it is a new one, which must be written before the commit.
    func key(for stream: StreamName) throws -> DataKey {
        if let used = state.withLock({ $0.used[stream] }) { return used }
        let key = try lookUp(stream)
        state.withLock { $0.use(key, for: stream) }
        return key
    }

    private func lookUp(_ stream: StreamName) throws -> DataKey {
        let code = ring.code(ofSubject: Array(stream.text.utf8))
        if let number = state.withLock({ $0.numbers[SubjectSlot.mark(of: code)] }), let slot = try slot(number), slot.code == code {
            // Reads report a damaged key, and appends go on.
            do { if let key = try key(of: slot) { return key } } catch is SlotDamage {}
        }
        // Order: written in time, so that a power cut can leave in doubt no more slots than are written at once.
        if state.withLock({ $0.pending.count >= Self.pendingMax }) { try flush() }
        return try addKey(code: { _ in code })
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

    /// Whether a key for another stream may be refused, so that appends ask for theirs before they are admitted.
    var mayRefuseNew: Bool { state.withLock { $0.lack != nil || $0.count > Self.slotsMax / 2 } }

    private func nextNumber() throws -> UInt32 {
        let (number, lack) = state.withLock { ($0.count + UInt32($0.pending.count) + 1, $0.lack) }
        // Events name the slots that are gone: under their numbers, other subjects' keys would pass for those of the events.
        if let lack { throw damaged(lack.reason) }
        guard number <= Self.slotsMax else {
            throw EvstoreError.usage("a store has keys for the personal data of at most \(Self.slotsMax) streams")
        }
        return number
    }

    private func add(_ slot: SubjectSlot) {
        state.withLock { state in
            state.pending.append(slot)
            state.learn(slot.number, slot.bytes.lent)
        }
    }

    /// Makes new keys durable, before anything that is sealed under them.
    package func flush() throws {
        let (slots, count) = state.withLock { ($0.pending, $0.count) }
        if slots.isEmpty { return }
        let file = try open()
        try file.write(slots.flatMap(\.bytes), at: Int(count + 1) * SubjectSlot.byteCount)
        try file.sync()
        writeCodes(of: slots)
        state.withLock { ($0.count, $0.pending) = (count + UInt32(slots.count), []) }
    }

    /// Writes the codes of slots with consecutive numbers. Without them the slots only take longer to prove, so a failure is passed over.
    func writeCodes(of slots: [SubjectSlot]) {
        guard let first = slots.first else { return }
        do {
            try File(codesPath, .create).write(slots.flatMap(ring.code(of:)), at: Int(first.number) * SubjectSlot.codeBytes)
        } catch { return }
    }

    /// Overwrites the keys of some streams' subjects durably, in one pass over the file and one sync; of a stream that never had one, the
    /// result is nil.
    ///
    /// Slots that the file lacks are forgotten too, in case an older copy of it that has them is put back.
    /// - Parameters:
    ///   - named: for each stream the slots that its events name, as far as they could be read.
    ///   - noted: how many slots were handed out according to the log.
    func forget(_ streams: [(name: StreamName, named: Set<UInt32>)], noted: UInt32) throws -> [ForgottenSubject?] {
        try begin(noted: noted)
        let lack = state.withLock { $0.lack }
        let codes = streams.map { ring.code(ofSubject: Array($0.name.text.utf8)) }
        let known = try slots(Set(codes))
        let slots = try zip(streams, codes).map { stream, code in
            let known = known[code] ?? []
            // A slot with a damaged code belongs to no stream, or to another one.
            return try known + stream.named.subtracting(known).sorted().filter { try $0 <= lack?.has ?? .max && isDamaged($0) }
        }
        let new = try overwrite(zip(slots, codes).flatMap { slots, code in slots.map { ($0, code) } })
        let through = state.withLock { max($0.count, lack?.handedOut ?? 0) }
        return zip(streams, zip(slots, codes)).map { stream, own in
            let isGone = lack.map { lack in stream.named.contains { $0 > lack.has } } ?? false
            if own.0.isEmpty && !isGone { return nil }
            return ForgottenSubject(code: own.1, through: through, isNew: own.0.contains(where: new.contains))
        }
    }

    /// Those of the streams for which there is a slot that was not forgotten.
    func keyed(among streams: Set<StreamName>) throws -> Set<StreamName> {
        let named = streams.map { (name: $0, code: ring.code(ofSubject: Array($0.text.utf8))) }
        let known = try slots(Set(named.map(\.code)))
        return Set(try named.filter { try (known[$0.code] ?? []).contains { try !isForgotten($0) } }.map(\.name))
    }

    /// The slots with each of the codes in the current file: slots that were read before may have been put back since.
    private func slots(_ codes: Set<[UInt8]>) throws -> [[UInt8]: [UInt32]] {
        guard !codes.isEmpty, let file = try reading() else { return [:] }
        let marks = Set(codes.map(SubjectSlot.mark(of:)))
        var slots: [[UInt8]: [UInt32]] = [:]
        try forEachSlot(of: file, after: 0, through: self.slots(in: file)) { number, bytes in
            guard marks.contains(SubjectSlot.mark(in: bytes)) else { return }
            let code = SubjectSlot.code(in: bytes)
            if codes.contains(code) { slots[code, default: []].append(number) }
        }
        return slots
    }

    /// Overwrites slots; returns those that were not forgotten before.
    private func overwrite(_ slots: [(number: UInt32, code: [UInt8])]) throws -> Set<UInt32> {
        if slots.isEmpty { return [] }
        let file = try open()
        var new: Set<UInt32> = []
        for (number, code) in slots {
            if try !isForgotten(number) { new.insert(number) }
            // Written again even where it was forgotten before: after a failed sync, a file reads as if its bytes were on the disk.
            let slot = ring.forgotten(number, code: code)
            try file.write(slot.bytes, at: Int(number) * SubjectSlot.byteCount)
            writeCodes(of: [slot])
        }
        // A process that is killed before this sync has not reported success.
        try file.sync()
        state.withLock { state in
            for (number, _) in slots { state.opened[number] = nil }
            state.used = [:]
        }
        return new
    }

    // MARK: Keys of lines

    /// A new key for a file of lines, durable on return.
    func makeKeyOfLines(noted: UInt32) throws -> DataKey {
        try begin(noted: noted)
        let key = try addKey(code: ring.code(ofLines:))
        try flush()
        return key
    }

    /// Overwrites keys of lines durably, including revived ones that a ledger names; a slot's own fields say that it belongs to lines.
    func forgetLines(_ numbers: Set<UInt32>, _ ledger: [ForgottenLedger.Entry], noted: UInt32) throws -> [ForgottenSubject] {
        try begin(noted: noted)
        let numbers = try numbers.union(revived(ledger).map(\.number))
        let slots = try numbers.sorted().compactMap { number in try written(number).flatMap { isOfLines($0) ? (number, $0.code) : nil } }
        let new = try overwrite(slots)
        return slots.map { number, code in ForgottenSubject(code: code, through: number, isNew: new.contains(number)) }
    }

    func isOfLines(_ slot: SubjectSlot) -> Bool { slot.code == ring.code(ofLines: slot.number) }

    /// Reads the slots that the file has got; returns how many it has.
    private func learn() throws -> UInt32 {
        let (known, there) = (state.withLock { $0.count }, try countInFile())
        guard there > known else { return there }
        let file = try File(path, .write)
        let count = try slots(in: file)
        guard count > known else { return count }
        if let damage = try headDamage(file) { throw damaged(damage.reason) }
        try rewriteSlots(of: file, from: max(known, count - min(count, Self.pendingMax)) + 1)
        try forEachSlot(of: file, after: known, through: count) { number, bytes in
            if !bytes.isZero { state.withLock { $0.learn(number, bytes) } }
        }
        state.withLock { $0.count = count }
        return count
    }

    /// Order: slots that a killed process has left are made durable before anything is sealed under them. They are written again, since
    /// after a failed sync a file reads as if its bytes were on the disk. Only as many slots as are written at once can be in doubt.
    private func rewriteSlots(of file: File, from first: UInt32) throws {
        let offset = Int(first) * SubjectSlot.byteCount
        try file.write(file.read(Int(Self.pendingMax) * SubjectSlot.byteCount, at: offset), at: offset)
        try file.sync()
    }

    private func open() throws -> File {
        let file = try File(path, .create)
        if try slots(in: file) > 0 { return file }
        // Without a slot it is unknown whether the process that made the file finished its head.
        try file.write(Self.head)
        try file.sync()
        try Directory.sync(store)
        return file
    }
}
