internal import Bytes
internal import EventModel
internal import Evstore
internal import EvstoreTesting
internal import JSONText
internal import Projections
internal import SchemaEvolution
internal import SchemaTools

/// Tries cases one after the other. One per process.
package final class Fuzzer {
    private let seeds: Seeds
    private let seed: UInt64
    private var sights: [String: Sight] = [:]
    private var stores: [String: BrokenAppends] = [:]

    package init(_ seeds: Seeds, seed: UInt64) { (self.seeds, self.seed) = (seeds, seed) }

    package func input(_ index: UInt64) -> Case { Case(seeds, seed: seed, index: index) }

    package func verdict(on input: Case) async -> Verdict {
        switch input.kind {
        case .version: return version(input)
        case .projections: return await projections(input)
        case .lock: return lock(input)
        case .payload: return payload(input)
        case .lines: return await appends(input.seed).lines(input)
        case .append: return await appends(input.seed).append(input)
        }
    }

    private func appends(_ seed: Seed) -> BrokenAppends {
        let known = stores[seed.name] ?? BrokenAppends(seed)
        stores[seed.name] = known
        return known
    }

    private func version(_ input: Case) -> Verdict {
        let lines = input.text.lineCount
        let file: VersionFile
        do { file = try VersionFile(text: input.text, file: input.file) } catch { return Judge.verdict(error, lines: lines) }
        if let verdict = keeping(file, input) { return verdict }
        let history: History
        do { history = try History(files: input.seed.history.versions.filter { $0.number != input.version } + [file]) } catch {
            return Judge.verdict(error)
        }
        let findings = history.check()
        if let verdict = Judge.verdict(findings) { return verdict }
        if findings.contains(where: { $0.severity == .error }) { return .refused }
        for words in [file.number.previous, file.number.next] where history[words] != nil {
            do {
                for type in history.types(at: words) { _ = try history.explain(type, from: words, to: file.number) }
                _ = try history.diff(from: words, to: file.number)
            } catch { return .wrong("a sound history is not explained: \(error)") }
        }
        return events(of: history, input) ?? .accepted
    }

    /// What a store keeps of a file reads as the same file, and so does its layout.
    private func keeping(_ file: VersionFile, _ input: Case) -> Verdict? {
        do {
            let kept = try VersionFile(text: file.canonical, file: "kept.json")
            if kept.digest != file.digest || kept != file { return .wrong("what a store keeps is another file") }
        } catch { return .wrong("what a store keeps can't be read: \(error)") }
        do {
            let laid = try FileLayout.format(input.text, file: input.file, as: .yaml)
            let again = try FileLayout.format(Array(laid.utf8), file: "again.yaml", as: .yaml)
            if laid != again { return .wrong("the layout of a layout is another") }
        } catch {
            if case .wrong(let complaint) = Judge.verdict(error) { return .wrong(complaint) }
        }
        return nil
    }

    /// Kept events and made ones, seen at every version of a history that was found sound.
    private func events(of history: History, _ input: Case) -> Verdict? {
        let sight: Sight
        do { sight = try Sight(history) } catch { return .wrong("what a store keeps is no history: \(error)") }
        var random = input.random
        var events: [LawEvent] = []
        var generator = EventGenerator(history, seed: random.next())
        for file in history.versions {
            for type in file.types { if let event = generator.event(type: type, born: file.number) { events.append(event) } }
        }
        for line in input.seed.lines { if let event = Self.event(line.type, line.version, line.payload, history) { events.append(event) } }
        for event in events { if let complaint = sight.complaint(event, laws: true) { return .wrong(complaint) } }
        return nil
    }

    /// Nil where the event is none of its version.
    private static func event(_ type: String, _ born: SchemaVersion, _ payload: [UInt8], _ history: History) -> LawEvent? {
        do {
            guard try JSONScanner.validate(payload.lent) == .object, let shape = history.shape(of: type, at: born) else { return nil }
            try shape.validate(payload.lent)
            return LawEvent(
                origin: .generated, stream: try shape.stream?.name(for: payload.lent) ?? "made-1", type: type, born: born,
                time: Timestamp(microseconds: 1_767_225_600_000_000), payload: payload, metadata: [])
        } catch { return nil }
    }

    private func payload(_ input: Case) -> Verdict {
        guard let version = input.version else { return .refused }
        let history = input.seed.history
        do {
            guard try JSONScanner.validate(input.text.lent) == .object else { return .refused }
            try history.requireShape(of: input.type, at: version).validate(input.text.lent)
        } catch let error as ShapeError {
            return error.reason.isEmpty || error.expected.isEmpty || error.found.isEmpty
                ? .wrong("a payload is refused without words") : .refused
        } catch let error as JSONError {
            return error.reason.isEmpty || error.offset < 0 || error.offset > input.text.count ? .wrong("no place: \(error)") : .refused
        } catch { return .wrong("\(error)") }
        guard let event = Self.event(input.type, version, input.text, history) else { return .refused }
        let sight: Sight
        do { sight = try sights[input.seed.name] ?? Sight(history) } catch { return .wrong("what a store keeps is no history: \(error)") }
        sights[input.seed.name] = sight
        return sight.complaint(event, laws: true).map { .wrong($0) } ?? .accepted
    }

    private func lock(_ input: Case) -> Verdict {
        do {
            let lock = try SchemaLock(text: input.text, file: input.file)
            let findings = lock.check(input.seed.history.versions, file: input.file)
            return Judge.verdict(findings) ?? (findings.isEmpty ? .accepted : .refused)
        } catch { return Judge.verdict(error, lines: input.text.lineCount) }
    }

    private func projections(_ input: Case) async -> Verdict {
        let history = input.seed.history
        let definitions: DefinitionSet
        do { definitions = try DefinitionSet.load(text: input.text, file: input.file, history: history) } catch {
            return Judge.verdict(error, lines: input.text.lineCount)
        }
        if let verdict = Judge.verdict(definitions.check(against: history)) { return verdict }
        do {
            let kept = try DefinitionSet(stored: definitions.stored)
            if kept.digest != definitions.digest { return .wrong("what a store keeps are other definitions") }
            for file in history.versions { _ = try definitions.definitions(at: file.number, history) }
        } catch { return .wrong("what a store keeps can't be read: \(error)") }
        var random = input.random
        return random.once(in: 8) ? await ReadModels(input.seed, definitions).verdict() : .accepted
    }
}
