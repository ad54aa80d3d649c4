import EventModel
import TestSupport
import Testing

@testable import SchemaEvolution

@Suite("Converting an event step by step to one version after another")
struct StepWalkTests {
    /// The tally of events that are tried at each version on their own, so that each walk begins at the birth version.
    private func anew(_ history: History, _ kind: TypeAtVersion, seed: UInt64) -> LawTally {
        var trial = LawTrial(history, isFull: true)
        var generator = EventGenerator(history, seed: seed)
        guard let event = generator.event(type: kind.type, born: kind.version) else { return trial.tally }
        for file in history.versions where LawTrial.requiresImage(history, from: kind.version, to: file.number) {
            trial.check(event, at: file.number)
        }
        return trial.tally
    }

    private func onward(_ history: History, _ kind: TypeAtVersion, seed: UInt64) -> LawTally {
        var trial = LawTrial(history, isFull: true)
        trial.check(kind, generated: 1, seed: seed)
        return trial.tally
    }

    @Test("gives the counts, crossings and failures of converting it from its birth version each time")
    func onwardIsAnew() throws {
        var random = SeededGenerator.announced()
        var compared = 0
        for history in [try orders(), try renamings(12)] {
            for file in history.versions {
                for type in file.types {
                    let (kind, seed) = (TypeAtVersion(type: type, version: file.number), random.next())
                    let (a, b) = (onward(history, kind, seed: seed), anew(history, kind, seed: seed))
                    // If a step refuses the event, `onward` tries others in its place.
                    guard a.events == b.events else { continue }
                    compared += 1
                    #expect(a.counts == b.counts && a.crossings == b.crossings && a.cases == b.cases && a.refused == b.refused)
                    #expect(a.failures.map(\.target) == b.failures.map(\.target))
                }
            }
        }
        #expect(compared > 10)
    }

    @Test("makes each step once, and stops for good at a step that fails")
    func eachStepOnce() throws {
        let event = LawEvent(
            origin: .generated, stream: "s", type: "E", born: SchemaVersion(3), time: Timestamp(microseconds: 0), payload: [], metadata: [])
        var walk = StepWalk()
        var steps: [String] = []
        func images(at version: Int) throws -> Int {
            try walk.images(of: [event], at: SchemaVersion(version)) { (before, from, to) throws(EvstoreError) in
                steps.append("\(from) \(to)")
                if to == SchemaVersion(8) { throw .verificationFailed(reason: "no") }
                return StepWalk.Stop(before, crossings: StepCrossing.all(before[0], before[0], from: from, to: to))
            }.count
        }
        for version in [4, 5, 7, 5] { #expect(try images(at: version) == 1) }
        for version in [8, 9] { #expect(throws: EvstoreError.self) { try images(at: version) } }
        #expect(try images(at: 6) == 1)
        #expect(steps == ["v3 v4", "v4 v5", "v5 v6", "v6 v7", "v7 v8"])
        let counts = walk.crossings.sorted { $0.key.step < $1.key.step }
        #expect(counts.map(\.key.step.number) == [4, 5, 6, 7])
        #expect(counts.map(\.value) == [7, 6, 4, 3])
    }

    @Test("paths that make room for others are compiled again, and give the same images")
    func fewPaths() throws {
        let history = try renamings(8)
        let (all, few) = (PathRunner(history), PathRunner(history, opsMax: 5))
        for born in 1 ... 8 {
            for seen in 1 ... 8 {
                let json = "{\"id\":\"a\",\"m\(born)\":\"x\"}"
                #expect(try all.images("E", json, from: born, to: seen) == few.images("E", json, from: born, to: seen))
            }
        }
    }

    /// A type with a member that each version names anew.
    private func renamings(_ count: Int) throws -> History {
        try history(
            (1 ... count).map { number in
                let upcast = number > 1 ? "upcast: [{on: E, do: [{move: {from: /m\(number - 1), path: /m\(number)}}]}]\n" : ""
                return upcast + "events: {E: {required: [id], properties: {id: {type: string}, m\(number): {type: string}}}}"
            })
    }
}
