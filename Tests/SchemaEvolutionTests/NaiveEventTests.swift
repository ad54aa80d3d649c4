import Bytes
import EventModel
import JSONText
import TestSupport
import Testing

@testable import SchemaEvolution

@Suite("What becomes of whole events is what the oracle says")
struct NaiveEventTests {
    /// What is seen of some events, and what it cost; nil where one has no image.
    private struct Outcome: Equatable, CustomStringConvertible {
        var images: [String]?
        var (lost, hidden, dropped) = (0, 0, 0)

        var description: String { "\(images?.description ?? "refused"), \(lost) lost, \(hidden) hidden, \(dropped) dropped" }

        init(_ images: [String]?, _ counts: PathCounts, since before: PathCounts) {
            self.images = images
            guard images != nil else { return }
            (lost, hidden, dropped) = (
                Int(counts.lost - before.lost), Int(counts.hidden - before.hidden), Int(counts.dropped - before.dropped)
            )
        }

        init(_ passage: NaivePassage?) {
            guard let passage else { return }
            images = passage.events.map { "\($0.source) \($0.type) \($0.payload)" }
            (lost, hidden, dropped) = (passage.lost, passage.hidden, passage.dropped)
        }
    }

    /// What the oracle makes of events of one append, or of the parts of one event.
    private func naive(_ events: [NaiveEvent], _ maker: NaiveEventMaker, from born: Int, to target: Int) -> Outcome {
        var passage = NaivePassage(events)
        do throws(NaivePassage.Refusal) {
            for version in stride(from: born + 1, through: target, by: 1) { try passage.up(maker.steps[version - 2]) }
            for version in stride(from: born, to: target, by: -1) { try passage.down(maker.steps[version - 2]) }
            // Whether an image keeps its shape is asked at the version where it is seen.
            let isWhole = passage.events.allSatisfy { lacksNothing($0.members, maker.versions[target - 1][$0.type] ?? []) }
            if !isWhole { return Outcome(nil) }
            return Outcome(passage)
        } catch { return Outcome(nil) }
    }

    /// Whether members are there that are required, and those in objects.
    private func lacksNothing(_ found: [JSONValue.Member], _ members: [NaiveEventMaker.Member]) -> Bool {
        members.allSatisfy { member in
            guard let value = found.first(where: { $0.name == member.name })?.value else { return !member.isRequired }
            if case .object(let inner) = value { return lacksNothing(inner, member.inner) }
            return true
        }
    }

    private func refused(_ body: () throws -> Void) throws -> Bool {
        do {
            try body()
            return false
        } catch EvstoreError.noImage { return true }
    }

    private let time = Timestamp(microseconds: 0)

    private func seen(_ image: borrowing Image, _ source: Int = 0) -> String {
        "\(source) \(image.type) \(String(utf8: image.payload) ?? "")"
    }

    private func single(_ event: NaiveEvent, _ viewer: PathRunner, _ path: Path) throws -> Outcome {
        let (before, payload, none) = (viewer.counts, Array(event.payload.utf8), [UInt8]())
        var images: [String] = []
        let isRefused = try refused {
            let source = SourceEvent(payload: payload.lent, time: time, metadata: none.lent)
            try viewer.interpreter.run(path, source, stream: "s") { images.append(seen($0)) }
        }
        return Outcome(isRefused ? nil : images, viewer.counts, since: before)
    }

    private func group(_ events: [NaiveEvent], _ viewer: PathRunner, from born: Int, to target: Int) throws -> Outcome {
        let (before, none) = (viewer.counts, [UInt8]())
        var images: [String] = []
        let isRefused = try refused {
            try viewer.view(
                group: events.map { GroupPart(type: $0.type, payload: Array($0.payload.utf8)) }, born: SchemaVersion(born),
                EventContext(time: time, stream: "s", metadata: none.lent), at: SchemaVersion(target)
            ) { images.append(seen($0)) }
        }
        return Outcome(isRefused ? nil : images, viewer.counts, since: before)
    }

    private func appended(_ events: [NaiveEvent], _ viewer: PathRunner, from born: Int, to target: Int) throws -> Outcome {
        let before = viewer.counts
        var (images, isRefused): ([String], Bool) = ([], false)
        let list = events.map { AppendedEvent(type: $0.type, payload: Array($0.payload.utf8), metadata: [], time: time, stream: "s") }
        try viewer.view(
            appended: list, born: SchemaVersion(born), at: SchemaVersion(target), failed: { _, _ in isRefused = true }
        ) { images.append(seen($1, $0)) }
        return Outcome(isRefused ? nil : images, viewer.counts, since: before)
    }

    /// The first thing that is not as the oracle says; nil where all is.
    private func difference(
        _ events: [NaiveEvent], _ maker: NaiveEventMaker, _ viewer: PathRunner, from born: Int, to target: Int
    ) throws -> String? {
        let (one, path) = (events[0], try viewer.path(type: events[0].type, born: SchemaVersion(born), to: SchemaVersion(target)))
        let byOps = try maker.history.path(type: one.type, born: SchemaVersion(born), to: SchemaVersion(target))
        let wanted = naive([one], maker, from: born, to: target)
        var found = [("in one pass", try single(one, viewer, path), wanted), ("op by op", try single(one, viewer, byOps), wanted)]
        if target < born {
            let parts = events.map { NaiveEvent(type: $0.type, members: $0.members) }
            found.append(("as parts", try group(parts, viewer, from: born, to: target), naive(parts, maker, from: born, to: target)))
        } else {
            found.append(("appended", try appended(events, viewer, from: born, to: target), naive(events, maker, from: born, to: target)))
        }
        for (what, found, wanted) in found where found != wanted {
            let list = events.map { "\($0.type) \($0.payload)" }.joined(separator: " + ")
            return "v\(born) \(list), \(what) at v\(target): \(found), but it should be \(wanted)\n\(maker.words)"
        }
        return nil
    }

    @Test("of one event, of the parts of one, and of those of one append, at every version")
    func manyHistories() throws {
        let base = UInt64.random(in: .min ... .max)
        var (looked, refusals) = (0, 0)
        for round in 0 ..< rounds(40) {
            var maker = try NaiveEventMaker(seed: base &+ UInt64(round), versions: 5)
            let viewer = PathRunner(maker.history)
            for born in 1 ... 5 {
                for _ in 0 ..< 6 {
                    let events = (0 ..< Int.random(in: 1 ... 5, using: &maker)).map { maker.event(at: born, source: $0) }
                    for target in 1 ... 5 {
                        let difference = try difference(events, maker, viewer, from: born, to: target)
                        #expect(difference == nil, "seed \(base &+ UInt64(round))")
                        if difference != nil { return }
                        looked += 1
                        if naive(events, maker, from: born, to: target).images == nil { refusals += 1 }
                    }
                }
            }
        }
        #expect(looked == rounds(6_000) && refusals < looked / 2, "seed \(base): \(refusals) of \(looked) were refused")
    }
}
