import Bytes
import EventModel
import Foundation
import JSONText
import SchemaEvolution

// What a step costs for an event of 200 bytes, by ops and by code of the application, and what it costs that a step is known
// by its protocol alone. Read the ratios; `swift run -c release --package-path tools/bench/steps steps [ROUNDS]`.

struct Parts: Codable { var firstName: String, lastName: String? }

struct Whole: Codable { var fullName: String, theme: String }

@Sendable func whole(_ parts: Parts) -> Whole {
    Whole(fullName: [parts.firstName, parts.lastName].compactMap(\.self).joined(separator: " "), theme: "system")
}

@Sendable func parts(_ whole: Whole) -> Parts {
    let parts = whole.fullName.split(separator: " ", maxSplits: 1).map(String.init)
    return Parts(firstName: parts.first ?? "", lastName: parts.count > 1 ? parts[1] : nil)
}

/// The same member by member.
struct ByMembers: ReversibleSwiftStep {
    let id = "profile"
    let revision = 1

    func up(_ members: inout StepMembers) throws {
        let names = try [members.read("/firstName", as: String.self), members.read("/lastName", as: String.self)]
        try members.write("/fullName", names.compactMap(\.self).joined(separator: " "))
        try members.write("/theme", "system")
    }

    func down(_ members: inout StepMembers) throws {
        let made = parts(Whole(fullName: try members.read("/fullName") ?? "", theme: ""))
        try members.write("/firstName", made.firstName)
        if let last = made.lastName { try members.write("/lastName", last) }
    }
}

/// A step that is known by its protocol alone, once more.
struct Erased: ReversibleSwiftStep {
    let inner: any ReversibleSwiftStep

    var id: String { inner.id }
    var revision: Int { inner.revision }
    func up(_ members: inout StepMembers) throws { try inner.up(&members) }
    func down(_ members: inout StepMembers) throws { try inner.down(&members) }
}

/// A step that does nothing, to measure the call.
struct Nothing: ReversibleSwiftStep {
    let id = "profile"
    let revision = 1

    func up(_ members: inout StepMembers) throws {}
    func down(_ members: inout StepMembers) throws {}
}

let common = "id: {type: string}, email: {type: string}, createdAt: {type: string}, note: {type: string}"
let older = "required: [id, firstName], properties: {firstName: {type: string}, lastName: {type: string}, \(common)}"
let newer = "required: [id, fullName, theme], properties: {fullName: {type: string}, theme: {type: string}, \(common)}"
let seen = older.replacing("firstName: {", with: "seen: {type: boolean}, firstName: {")
let joined = """
    join: {paths: [/firstName, /lastName], path: /fullName, separator: " ", at: first, missing: absent}
          - add: {path: /theme, value: system}
    """
let step =
    "swift: {id: profile, revision: 1, class: partial, reads: [/firstName, /lastName], writes: [/firstName, /lastName, /fullName, /theme]}"
let idle = "swift: {id: profile, revision: 1, class: widen, reads: [], writes: [/seen]}"

func history(_ ops: String, _ steps: [any SwiftStep] = [], to shape: String = newer) throws -> History {
    let texts = [
        "evstore: 1\nversion: 1\nevents: {ProfileSaved: {\(older)}}\n",
        "evstore: 1\nversion: 2\nupcast:\n  - on: ProfileSaved\n    do:\n      - \(ops)\nevents: {ProfileSaved: {\(shape)}}\n",
    ]
    let files = try texts.enumerated().map { try VersionFile(text: Array($1.utf8), file: "v\($0 + 1).yaml") }
    let history = try History(files: files).with(SwiftSteps(steps))
    let errors = history.check().filter { $0.severity == .error }
    if !errors.isEmpty { throw EvstoreError.schemaInvalid(errors) }
    return history
}

let text = Array(
    #"{"id":"0004711","firstName":"Ada","lastName":"Lovelace","email":"ada.lovelace@example.org","createdAt":"2026-03-02T10:00:00Z","note":"a user of the first days, who has seen every version of this"}"#
        .utf8)
let rounds = CommandLine.arguments.dropFirst().first.flatMap { Int($0) } ?? 200_000
let moment = Timestamp(microseconds: 0)
let none: [UInt8] = []
var measure = Measuring(rounds: rounds, unit: "the ops", width: 44)

/// Sees the event at version 2 by a path of this history; fused where the viewer finds the path itself.
@MainActor @discardableResult
func measureStep(_ name: String, _ history: History, against: Double? = nil, isFused: Bool = true) throws -> Double {
    let viewer = PathRunner(history)
    let (one, two) = (SchemaVersion(1), SchemaVersion(2))
    let path =
        isFused
        ? try viewer.path(type: "ProfileSaved", born: one, to: two) : try history.path(type: "ProfileSaved", born: one, to: two)
    return try measure(name, against: against) {
        var bytes = 0
        let (payload, metadata) = (text, none)
        let source = SourceEvent(payload: payload.lent, time: moment, metadata: metadata.lent)
        try viewer.interpreter.run(path, source, stream: "") { bytes += $0.payload.byteCount }
        return bytes
    }
}

let coding = SwiftValues.payloads
let typed = TypedStep("profile", revision: 1, up: whole, down: parts)
print("\(text.count) bytes, \(rounds) rounds")
let base = try measureStep("ops, fused", history(joined))
try measureStep("ops, one by one", history(joined), against: base, isFused: false)
let members = try measureStep("a step, member by member", history(step, [ByMembers()]), against: base)
let pair = try measureStep("a step between two types", history(step, [typed]), against: base)
let erased = try measureStep("the same behind another protocol value", history(step, [Erased(inner: typed)]), against: base)
let call = try measureStep("a step that does nothing", history(idle, [Nothing()], to: seen), against: base)
let erasedCall = try measureStep(
    "the same behind another protocol value", history(idle, [Erased(inner: Nothing())], to: seen), against: base)
try measure("the closure with JSONText's coding", against: base) {
    try coding.encode(whole(coding.decode(Parts.self, from: text, hasUniqueNames: true))).count
}
let (decoder, encoder, data) = (JSONDecoder(), JSONEncoder(), Data(text))
try measure("the closure with Foundation's coding", against: base) {
    try encoder.encode(whole(decoder.decode(Parts.self, from: data))).count
}
print(
    String(
        format: "erasure once more: %+.1f %% of a typed step, %+.1f %% of an empty one; members %.2f x typed", (erased / pair - 1) * 100,
        (erasedCall / call - 1) * 100, members / pair))
