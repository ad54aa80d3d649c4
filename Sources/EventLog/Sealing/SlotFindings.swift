internal import EventModel
internal import Sealing

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
