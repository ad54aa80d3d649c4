import EventModel
import EvstoreTesting
import Hashing
import Projections
import SchemaEvolution
import TestSupport
import Testing

@testable import EventLog
@testable import Evstore

/// A validator that has met a type checks its plain payloads in one pass; a new one checks each event in full.
@Suite("Checking events of a type that was met before")
struct KnownValidatorTests {
    private static func options() -> Options {
        var options = Options.forTests
        (options.eventBytesMax, options.jsonDepthMax, options.jsonMembersMax, options.typeNameBytesMax) = (200, 2, 5, 20)
        return options
    }

    /// A new validator, or one that has met each type at each version.
    private func validator(_ history: History, _ stamp: StateStamp, _ rules: AppendRules, meetsAll: Bool = false) -> AppendValidator {
        let validator = AppendValidator(history: history, stamp: stamp, rules: rules, options: Self.options())
        for version in history.versions where meetsAll {
            for type in version.types { do { _ = try validator.entry(type, version.number) } catch {} }
        }
        return validator
    }

    private func admitted(_ event: NewEvent, by validator: AppendValidator) -> Result<[StoredEvent], EvstoreError> {
        var stored: [StoredEvent] = []
        do { try validator.admit(event, isJSON: false, at: ExampleEvents.time, into: &stored) } catch { return .failure(error) }
        return .success(stored)
    }

    /// An event that a store takes, or one that is like it.
    private func event(_ made: inout EventGenerator, _ random: inout SeededGenerator, _ history: History) throws -> NewEvent? {
        func chance(_ times: Int) -> Bool { Int.random(in: 0 ..< times, using: &random) == 0 }
        guard let version = history.versions.randomElement(using: &random), let type = version.types.sorted().randomElement(using: &random),
            let law = made.event(type: type, born: version.number)
        else { return nil }
        var event = NewEvent(stream: try StreamName(law.stream), type: type, payload: law.payload, version: version.number)
        if chance(2) { event.time = law.time }
        if chance(8) { event.version = [nil, SchemaVersion(0), SchemaVersion(6)].randomElement(using: &random) ?? nil }
        if chance(12) { event.type = ["OrderLost", "OrderPaid", String(repeating: "x", count: 21)].randomElement(using: &random) ?? "" }
        if chance(12) { event.stream = try StreamName(chance(2) ? law.stream.dropLast() + "x" : "order-1") }
        if chance(6) {
            let metadata = ["{}", #"{"by":"me"}"#, #"{"a":{"b":{}}}"#, "[]", "7", "", "{"].randomElement(using: &random) ?? "{}"
            event.metadata = Array(metadata.utf8)
        }
        let room = 200 - event.payload.count + (chance(2) ? 1 : 0)
        if room > 0, chance(40) { event.payload += Array(repeating: UInt8(ascii: " "), count: room) }
        for _ in 0 ..< (chance(5) ? Int.random(in: 1 ... 2, using: &random) : 0) where !event.payload.isEmpty {
            let place = Int.random(in: event.payload.indices, using: &random)
            let byte = Array(#"{}[]",:\ 01-.é"#.utf8).randomElement(using: &random) ?? 0
            if chance(2) { event.payload[place] = byte } else { event.payload.insert(byte, at: place) }
        }
        return event
    }

    @Test("gives the stored event or the error that a new validator gives", arguments: [false, true])
    func twoValidators(isObserving: Bool) throws {
        let history = try Orders.schemas().history
        let (live, top) = isObserving ? (SchemaVersion(3), SchemaVersion(4)) : (SchemaVersion(4), SchemaVersion(5))
        let numbers = VersionNumbers(floor: SchemaVersion(2), live: live, top: top, head: SchemaVersion(5))
        let stamp = StateStamp(numbers: numbers, history: .zero)
        var rules = AppendRules(version: live)
        if isObserving { (rules.takesOld, rules.ahead, rules.gatesThroughTop) = (true, history, true) }
        var known: [Bool: AppendValidator] = [:]
        var (made, counts) = (EventGenerator(history, seed: 0), [String: Int]())
        for seed in 0 ..< UInt64(rounds(500)) {
            var random = SeededGenerator(seed: seed)
            made.restart(seed: seed)
            rules.enforcesStream = seed % 3 > 0
            let old = known[rules.enforcesStream] ?? validator(history, stamp, rules, meetsAll: true)
            known[rules.enforcesStream] = old
            guard let event = try event(&made, &random, history) else { continue }
            let (found, wanted) = (admitted(event, by: old), admitted(event, by: validator(history, stamp, rules)))
            let words =
                "\(event.type)@\(event.version?.description ?? "-") in \(event.stream): \(String(decoding: event.payload, as: UTF8.self))"
            try #require(found == wanted, "seed \(seed): \(words)")
            if case .failure(let error) = wanted { counts[error.code, default: 0] += 1 } else { counts["", default: 0] += 1 }
        }
        let codes = ["", "invalidEvent", "invalidJSON", "versionNotAllowed", "noImage", "streamMismatch"]
        for code in codes where code != "versionNotAllowed" || !isObserving { #expect(counts[code] ?? 0 > 0, "\(code) of \(counts)") }
    }
}
