internal import Bytes
package import EventModel
internal import LMDB
internal import Platform
internal import Sealing

/// A damaged or missing slot of a subject's key; number 0 is the head of their file.
package struct SlotDamage: Error, CustomStringConvertible {
    let number: UInt32
    let reason: String
    let code: [UInt8]
    /// Whether the key is that of a file of lines.
    var isOfLines = false
    /// The id of the stream whose event was to be opened, and that event's position; zero where there was none.
    var stream: UInt64 = 0
    var position = Position.start

    init(_ number: UInt32, _ reason: String, code: [UInt8] = []) { (self.number, self.reason, self.code) = (number, reason, code) }

    package var description: String { words(of: nil) }

    func words(of stream: StreamName?) -> String {
        if number == 0 { return "its file \(SubjectKeys.fileName) \(reason)" }
        let whose = isOfLines ? "lines of an archive" : stream.map { "the stream \($0)" } ?? "a stream"
        return "the key of \(whose) (slot \(number) of its file \(SubjectKeys.fileName)) \(reason)"
    }
}

/// The file of subjects' keys as an earlier copy has it, every slot of which was proved then.
package struct EarlierSlots {
    /// Returns the next bytes, fewer than asked for only at the end.
    private let next: (Int) -> [UInt8]
    /// Whether slots of the earlier copy are different now.
    package private(set) var haveChanged = false

    package init(_ next: @escaping (Int) -> [UInt8]) { self.next = next }

    static var none: EarlierSlots { EarlierSlots { _ in [] } }

    fileprivate func skip(_ count: Int) { _ = next(count) }

    /// Notes it as a change if the earlier copy has more slots.
    fileprivate mutating func end() { if !next(1).isEmpty { haveChanged = true } }

    /// Those of the next slots that the earlier copy does not have as they are.
    fileprivate mutating func changed(_ slots: [SubjectSlot]) -> [SubjectSlot] {
        let bytes = next(slots.count * SubjectSlot.byteCount)
        let known = bytes.count / SubjectSlot.byteCount
        let changed = slots.enumerated().filter { index, slot in
            index >= known || !slot.bytes.lent.equals(bytes.lent.slice(index * SubjectSlot.byteCount, SubjectSlot.byteCount))
        }
        if changed.contains(where: { $0.offset < known }) { haveChanged = true }
        return changed.map(\.element)
    }
}

extension SubjectKeys.Lack {
    var reason: String {
        "has \(has) slots, and keys were made up to slot \(handedOut): it is missing, cut short, or an older copy, and the next keys would "
            + "get numbers of slots that events name"
    }
}

extension SubjectKeys {
    // MARK: Looking at all of them

    /// How many slots a file has, but no more than there can be.
    func slots(in file: File) throws -> UInt32 {
        UInt32(min(Self.slotsMax, max(0, try file.status().bytes / SubjectSlot.byteCount - 1)))
    }

    /// How many slots the file has now; 0 where there is none.
    func countInFile() throws -> UInt32 { try reading().map { try slots(in: $0) } ?? 0 }

    /// What the file lacks of the slots that were handed out, as damage of the whole file; nil where it has them all.
    func shortage(noted: UInt32) throws -> SlotDamage? {
        let (count, handedOut) = (try countInFile(), max(noted, durableCount))
        return count < handedOut ? SlotDamage(0, Lack(has: count, handedOut: handedOut).reason) : nil
    }

    func damaged(_ reason: String) -> EvstoreError { .storeDamaged(path: store, reason: "its file \(Self.fileName) \(reason)") }

    /// Whether no slot was ever written; then the head may be incomplete too.
    private func isUnbegun(_ file: File) throws -> Bool { try file.status().bytes <= SubjectSlot.byteCount }

    func headDamage(_ file: File) throws -> SlotDamage? {
        if try file.status().bytes / SubjectSlot.byteCount > Self.slotsMax + 1 {
            return SlotDamage(0, "has more than \(Self.slotsMax) slots")
        }
        return try file.read(Self.head.count) == Self.head ? nil : SlotDamage(0, "does not begin as one of subjects")
    }

    private static let slotsAtOnce: UInt32 = 8_192

    /// Lends the slots after one number up to another, including slots of zeros.
    func forEachSlot(of file: File, after first: UInt32, through last: UInt32, _ body: (UInt32, RawSpan) throws -> Void) throws {
        var next = first + 1
        while next <= last {
            let wanted = Int(min(Self.slotsAtOnce, last - next + 1))
            let bytes = try file.read(wanted * SubjectSlot.byteCount, at: Int(next) * SubjectSlot.byteCount)
            let count = bytes.count / SubjectSlot.byteCount
            for index in 0 ..< count {
                try body(next + UInt32(index), bytes.lent.slice(index * SubjectSlot.byteCount, SubjectSlot.byteCount))
            }
            if count < wanted { return }
            next += UInt32(count)
        }
    }

    /// Calls `body` with all slots of a file, and with the damage of each one that can't be proved. A slot of zeros may be left by a power
    /// cut before a commit: it counts as damage only where an event names it. Slots that an earlier copy has too were proved for that one.
    private func forEachProven(
        of file: File, _ earlier: inout EarlierSlots, _ body: (SubjectSlot, SlotDamage?) throws -> Void
    ) throws {
        let last = try slots(in: file)
        for first in stride(from: 1, through: last, by: Int(Self.slotsAtOnce)) {
            var slots: [SubjectSlot] = []
            try forEachSlot(of: file, after: first - 1, through: min(last, first + Self.slotsAtOnce - 1)) { number, bytes in
                slots.append(SubjectSlot(number, [UInt8](copying: bytes)))
            }
            let unproven = try unproven(earlier.changed(slots), codes(from: UInt32(first), count: slots.count), from: UInt32(first))
            for slot in slots {
                guard unproven.contains(slot.number) else {
                    try body(slot, nil)
                    continue
                }
                let looked: (slot: SubjectSlot, damage: SlotDamage?)
                do { looked = (try proven(slot.number).slot, nil) } catch let damage as SlotDamage { looked = (slot, damage) }
                try body(looked.slot, looked.damage)
            }
        }
    }

    /// The codes of some slots, as far as there are any.
    private func codes(from first: UInt32, count: Int) -> [UInt8] {
        do {
            guard try Directory.ownStatus(codesPath) != nil else { return [] }
            return try File(codesPath, .read).read(count * SubjectSlot.codeBytes, at: Int(first) * SubjectSlot.codeBytes)
        } catch { return [] }
    }

    private func isProven(_ slot: SubjectSlot, by codes: [UInt8], from first: UInt32) -> Bool {
        let offset = Int(slot.number - first) * SubjectSlot.codeBytes
        guard offset + SubjectSlot.codeBytes <= codes.count else { return false }
        return ring.isCode(codes.lent.slice(offset, SubjectSlot.codeBytes), ofSlot: slot.number, slot.bytes.lent)
    }

    /// The numbers of the slots that can't be proved, except slots of zeros. Uses all processors at once: without its code, each proof
    /// takes the derivation of a key and a decryption.
    /// - Parameter codes: the codes of the slots from a number on.
    private func unproven(_ slots: [SubjectSlot], _ codes: [UInt8], from first: UInt32) throws -> Set<UInt32> {
        let unproven = Monitor<Set<UInt32>>([])
        let jobs = min(Processors.count, slots.count / Self.slotsAloneMax + 1)
        try inParallel(jobs) { job in
            for slot in slots[slots.count * job / jobs ..< slots.count * (job + 1) / jobs]
            where !slot.isBlank && !self.isProven(slot, by: codes, from: first) {
                do throws(SealError) { _ = try self.ring.key(of: slot) } catch { unproven.withLock { _ = $0.insert(slot.number) } }
            }
        }
        return unproven.withLock { $0 }
    }

    /// Proving this few slots takes less time than starting another thread.
    private static let slotsAloneMax = 64

    func damages() throws -> [SlotDamage] {
        guard let file = try reading(), try !isUnbegun(file) else { return [] }
        var damages = try [headDamage(file)].compactMap(\.self)
        var earlier = EarlierSlots.none
        try forEachProven(of: file, &earlier) { _, damage in damages += [damage].compactMap(\.self) }
        return damages
    }

    /// - Parameter named: the slots that events name, each with the name of their stream.
    /// - Throws: `EvstoreError.storeDamaged` where one of them was never written, is gone, or belongs to another stream.
    func require(_ named: [UInt32: String]) throws {
        if named.isEmpty { return }
        var missing = Set(named.keys)
        if let file = try reading() {
            try forEachSlot(of: file, after: 0, through: slots(in: file)) { number, bytes in
                guard !bytes.isZero, let stream = named[number] else { return }
                guard SubjectSlot.code(in: bytes) == ring.code(ofSubject: Array(stream.utf8)) else {
                    throw damaged("has another stream's key in slot \(number), which events of \(stream) name")
                }
                missing.remove(number)
            }
        }
        guard let first = missing.min() else { return }
        throw damaged("has no slot \(first), which events of \(named[first] ?? "a stream") name")
    }

    // MARK: What was forgotten

    func isDamaged(_ number: UInt32) throws -> Bool {
        guard number <= Self.slotsMax else { return false }
        do { _ = try proven(number) } catch is SlotDamage { return true }
        return false
    }

    func isForgotten(_ number: UInt32) throws -> Bool {
        do { return try proven(number).slot.state == .forgotten } catch is SlotDamage { return false }
    }

    /// The slots that the ledger names as forgotten and that hold a key again: an older copy of the file was put back.
    func revived(_ ledger: [ForgottenLedger.Entry]) throws -> [SubjectSlot] {
        guard !ledger.isEmpty, let file = try reading() else { return [] }
        let through = Dictionary(ledger.map { ($0.forgotten.code, $0.forgotten.through) }, uniquingKeysWith: max)
        var revived: [SubjectSlot] = []
        try forEachSlot(of: file, after: 0, through: slots(in: file)) { number, bytes in
            guard SubjectSlot.state(in: bytes) == .live, let last = through[SubjectSlot.code(in: bytes)], number <= last else { return }
            revived.append(SubjectSlot(number, [UInt8](copying: bytes)))
        }
        return revived
    }

    /// Overwrites such slots again, in a copy that nobody else can see yet.
    package func forgetAgain(_ ledger: [ForgottenLedger.Entry]) throws {
        let revived = try revived(ledger)
        if revived.isEmpty { return }
        let file = try File(path, .write)
        for slot in revived {
            try file.write(ring.forgotten(slot.number, code: slot.code).bytes, at: Int(slot.number) * SubjectSlot.byteCount)
        }
        try file.sync()
    }

    // MARK: Copies

    /// Passes on the bytes of the file, in parts; nothing where no subject has a key.
    /// - Parameters:
    ///   - noted: how many slots were handed out according to the log.
    ///   - earlier: an earlier copy, whose slots are not proved again.
    /// - Throws: `EvstoreError.storeDamaged` where a slot is damaged or missing: such a copy could not be restored.
    package func copy(noted: UInt32, _ earlier: inout EarlierSlots, _ take: ([UInt8]) throws -> Void) throws {
        if let shortage = try shortage(noted: noted) { throw damaged(shortage.reason) }
        defer { earlier.end() }
        guard let file = try reading(), try !isUnbegun(file) else { return }
        if let damage = try headDamage(file) { throw damaged(damage.reason) }
        var part = Self.head
        earlier.skip(part.count)
        try forEachProven(of: file, &earlier) { slot, damage in
            if let damage { throw damaged("has a slot \(damage.number) that \(damage.reason): verifying the store names its stream") }
            part += slot.bytes
            if part.count >= 1 << 20 {
                try take(part)
                part = []
            }
        }
        if !part.isEmpty { try take(part) }
    }

    package func put(_ bytes: [UInt8]) throws {
        let file = try File(path, .create)
        try file.write(bytes, at: file.status().bytes)
        try file.sync()
    }

    /// Writes the codes of all slots that can be proved, for a file of slots that was copied.
    func writeCodes() throws {
        guard try Directory.ownStatus(path) != nil else { return }
        var (earlier, proven) = (EarlierSlots.none, [SubjectSlot]())
        try forEachProven(of: File(path, .read), &earlier) { slot, damage in
            let isProven = damage == nil && !slot.isBlank
            if isProven { proven.append(slot) }
            guard !isProven || proven.count >= Self.slotsAtOnce else { return }
            writeCodes(of: proven)
            proven = []
        }
        writeCodes(of: proven)
    }

    /// Copies the undamaged slots to a store with the same keys, each to its place; marks the damaged ones as lost, under the names of
    /// their streams.
    package func copy(to other: SubjectKeys, losing lost: [UInt32: StreamName]) throws {
        var next: UInt32 = 0
        var part: [UInt8] = []
        func put(_ bytes: [UInt8], at number: UInt32) throws {
            // Slots that no event names are zeros.
            part += [UInt8](repeating: 0, count: Int(number - next) * SubjectSlot.byteCount) + bytes
            next = number + 1
            guard part.count >= 1 << 20 else { return }
            try other.put(part)
            part = []
        }
        func lose(_ number: UInt32) throws {
            guard let stream = lost[number] else { return }
            guard number <= Self.slotsMax else { throw damaged("would have more than \(Self.slotsMax) slots") }
            try put(ring.lost(number, code: ring.code(ofSubject: Array(stream.text.utf8))).bytes, at: number)
        }
        try put(Self.head, at: 0)
        if let file = try reading() {
            var earlier = EarlierSlots.none
            try forEachProven(of: file, &earlier) { slot, damage in
                if damage != nil || slot.isBlank { try lose(slot.number) } else { try put(slot.bytes, at: slot.number) }
            }
        }
        for number in lost.keys.sorted() where number >= next { try lose(number) }
        if next > 1 { try other.put(part) }
    }
}

/// Collects the findings about damaged keys of subjects in a walk over a whole log: one for each key.
struct SlotFindings {
    private struct Slot {
        var reason: String
        var isOfLines = false
        var stream: StreamName?
        var first: Position?
        var events = 0
    }

    private static let shownMax = 1_000
    private var slots: [UInt32: Slot] = [:]
    private var numbers: [[UInt8]: UInt32] = [:]
    /// The finding about slots that the file lacks.
    private var shortage: [Finding] = []

    /// - Parameter damages: the damages that are known before the walk.
    init(_ damages: [SlotDamage] = []) {
        for damage in damages {
            slots[damage.number] = Slot(reason: damage.reason, isOfLines: damage.isOfLines)
            if damage.code.contains(where: { $0 != 0 }) { numbers[damage.code] = damage.number }
        }
    }

    /// Notes that the file lacks slots at its end, or altogether.
    mutating func note(shortage: SlotDamage, _ store: String) {
        // An older copy of the whole file would have keys that were forgotten since.
        let advice: Advice = """
            put back the missing slots alone, from the file of a backup that was restored elsewhere, and verify again; or \(Self.goOn(store))
            """
        self.shortage = [Finding(id: Self.id, message: shortage.description, advice: advice)]
    }

    /// Whether names of streams are needed to find out which stream a damaged slot belongs to.
    var wantsNames: Bool { !numbers.isEmpty }

    mutating func note(_ stream: StreamName, code: [UInt8]) {
        if let number = numbers[code] { slots[number]?.stream = stream }
    }

    /// Notes an event that could not be opened.
    mutating func note(_ damage: SlotDamage, of stream: StreamName?) {
        var slot = slots[damage.number] ?? Slot(reason: damage.reason)
        slot.first = slot.first ?? damage.position
        slot.events += 1
        slot.stream = stream ?? slot.stream
        slots[damage.number] = slot
    }

    func findings(_ store: String) -> [Finding] {
        var findings = shortage
        findings += slots.sorted { $0.key < $1.key }.prefix(Self.shownMax).map { number, slot in
            var damage = SlotDamage(number, slot.reason)
            damage.isOfLines = slot.isOfLines
            var message = damage.words(of: slot.stream)
            if slot.events > 0 { message += ": \(slot.events) of its events are not shown" }
            return Finding(id: Self.id, position: slot.first, message: message, advice: Self.advice(number, store))
        }
        if slots.count > Self.shownMax {
            findings.append(
                Finding(
                    id: Self.id, message: "\(slots.count - Self.shownMax) more keys of streams are damaged or missing",
                    advice: Self.goOn(store)))
        }
        return findings
    }

    private static let id = "STORE016"

    /// The finding for a key that was forgotten and exists again.
    static func revived(_ slot: SubjectSlot, isOfLines: Bool, of stream: StreamName?, _ store: String) -> Finding {
        let what =
            isOfLines
            ? "an archive was thrown away, or written anew without what was forgotten, and the key of its old lines"
            : "the personal data of \(stream.map { "the stream \($0)" } ?? "a stream") was forgotten, and its key"
        let again = isOfLines ? "forget any of the streams again that were forgotten" : "forget it again"
        return Finding(
            id: "STORE017",
            message: "\(what) is there again (slot \(slot.number) of its file \(SubjectKeys.fileName)): an older copy of that file was "
                + "put back",
            advice: "\(again): \(.forget(stream, store: store))")
    }

    /// Advises to copy only this slot: another one may have been forgotten since the backup was made.
    private static func advice(_ number: UInt32, _ store: String) -> Advice {
        let copy = Advice.Call.copySlot(number, byteCount: SubjectSlot.byteCount, store: store)
        return "put it back from a backup that was restored elsewhere (\(copy)), or \(goOn(store))"
    }

    private static func goOn(_ store: String) -> Advice { "go on without that data: \(.salvage(store: store))" }
}
