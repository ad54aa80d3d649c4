import Bytes
import EventModel
import EvstoreTesting
import Hashing
import TestStores
import TestSupport
import Testing

@testable import EventLog
@testable import LogKeeping

@Suite("The digest of what a backup holds")
struct BackupDigestTests {
    /// The digest of a list of events, as the file format defines it: without personal data, which may be forgotten.
    private static func digest(_ events: [StoredEvent]) -> Digest {
        var (hasher, revisions) = (SHA256Hasher(), [String: UInt64]())
        func add(_ bytes: [UInt8]) {
            hasher.update(UInt64(bytes.count))
            hasher.update(bytes.lent)
        }
        for (index, event) in events.enumerated() {
            let revision = revisions[event.stream.text, default: 0]
            revisions[event.stream.text] = revision + 1
            hasher.update(UInt64(index + 1))
            add(Array(event.stream.text.utf8))
            hasher.update(revision)
            add(Array((event.id?.text ?? "").utf8))
            hasher.update(UInt64(bitPattern: event.time.microseconds))
            add(Array(event.type.utf8))
            hasher.update(UInt64(event.born.rawValue))
            add(event.forgotten.isEmpty ? event.payload : event.forgotten)
            add(event.metadata)
        }
        return hasher.finalize()
    }

    /// An append of one to four events; in a sealed log some have personal data.
    private func events(_ step: Int, isSealed: Bool, _ random: inout SeededGenerator) throws -> [StoredEvent] {
        try (0 ..< Int.random(in: 1 ... 4, using: &random)).map { index in
            let number = Int.random(in: 0 ..< 1_000, using: &random)
            var made = try event(
                "s-\(number % 7)", #"{"name":"Ada \#(String(repeating: "x", count: number))"}"#, type: "type-\(number % 5)",
                born: UInt32(number % 3 + 1), id: "\(step).\(index)", metadata: number % 4 == 0 ? #"{"by":"\#(number)"}"# : "")
            if isSealed, number % 2 == 0 { made.forgotten = Array(#"{"name":""}"#.utf8) }
            return made
        }
    }

    @Test(
        "is the one of the events that are there, for a whole backup, for the part that follows one, and for the log read again",
        arguments: [(false, 1), (false, 2), (true, 3), (true, 4)] as [(Bool, UInt64)])
    func content(isSealed: Bool, seed: UInt64) async throws {
        var random = SeededGenerator(seed: seed, "digest", 0)
        let directory = try TemporaryDirectory()
        let log = try makeLog(
            directory,
            .small {
                ($0.sweepDueEvents, $0.sweepForcedEvents, $0.sweepSliceEntries, $0.readSliceBytes) = (5, 10, 4, 4_000)
                if isSealed { $0.secret = SealedScene.secret }
            })
        var (model, base) = ([StoredEvent](), BackupBase?.none)
        for step in 0 ..< rounds(12) {
            for append in 0 ..< Int.random(in: 1 ... 6, using: &random) {
                let events = try events(step * 10 + append, isSealed: isSealed, &random)
                _ = try await log.append(AppendRequest(events: events))
                model += events
            }
            if step % 4 == 3 {
                model.removeLast(.random(in: 0 ... min(12, model.count), using: &random))
                let kept = Position(UInt64(model.count))
                try await log.update { try $0.cut(to: kept) }
            }
            if isSealed, step % 3 == 2 { _ = try SealedScene.forget("s-\(step % 7)", log) }
            let wanted = Self.digest(model)
            #expect(try log.contentDigest() == wanted, "seed \(seed), step \(step): the log")
            if let before = base, try log.holds(before) {
                #expect(try log.backUp(after: before) { _, _ in }.content == wanted, "seed \(seed), step \(step): a part")
            }
            let whole = try log.backUp { _, _ in }
            #expect(whole.content == wanted, "seed \(seed), step \(step): a whole backup")
            base = whole.base
        }
        try await log.close()
    }
}
