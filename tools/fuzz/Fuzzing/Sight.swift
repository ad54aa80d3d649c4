internal import Bytes
internal import EventModel
internal import SchemaEvolution

/// What an event is at a version: by the fused path of the files, and by the ops one after the other of what a store keeps of them.
struct Sight {
    private let history: History
    private let kept: History
    private let fused: PathRunner
    private let plain: PathRunner
    private let trial: LawTrial

    init(_ history: History) throws {
        self.history = history
        kept = try History(files: history.versions.map { try VersionFile(text: $0.canonical, file: "kept.json") })
        (fused, plain) = (PathRunner(history), PathRunner(kept))
        trial = LawTrial(history, isFull: true)
    }

    /// The images of a valid event at every version, both ways; then the laws.
    /// - Returns: what is wrong, nil where nothing is.
    func complaint(_ event: LawEvent, laws: Bool) -> String? {
        for target in history.versions {
            do {
                let quick = try fused.path(type: event.type, born: event.born, to: target.number)
                let slow = try kept.path(type: event.type, born: event.born, to: target.number)
                let (found, wanted) = (see(event, quick, fused), see(event, slow, plain))
                if found != wanted { return "\(event.type) of \(event.born) at \(target.number) is \(found), and by its ops \(wanted)" }
                if fused.counts != plain.counts {
                    return "\(event.type) of \(event.born) at \(target.number): \(fused.counts), and by its ops \(plain.counts)"
                }
                if let complaint = found.complaint { return complaint }
            } catch { return "no path of \(event.type) from \(event.born) to \(target.number): \(error.message)" }
        }
        return laws ? broken(event) : nil
    }

    private struct Seen: Equatable, CustomStringConvertible {
        var images: [String] = []
        var error: EvstoreError?

        var description: String { images.joined(separator: " ") + (error.map { " then \($0.message)" } ?? "") }

        var complaint: String? {
            guard let error else { return nil }
            if case .noImage = error, case .refused = Judge.verdict(error) { return nil }
            return "an event that is valid is answered by \(error)"
        }
    }

    private func see(_ event: LawEvent, _ path: Path, _ viewer: PathRunner) -> Seen {
        var seen = Seen()
        do {
            let source = SourceEvent(payload: event.payload.lent, time: event.time, metadata: event.metadata.lent)
            try viewer.interpreter.run(path, source, stream: event.stream, validating: true) {
                seen.images.append("\($0.part) \($0.type) \(String(decoding: [UInt8](copying: $0.payload), as: UTF8.self))")
            }
        } catch { seen.error = (error as? EvstoreError) ?? .verificationFailed(reason: "\(error)") }
        return seen
    }

    /// A law that must hold and does not. That an event has no image at a version is an answer: the gate gives it too.
    private func broken(_ event: LawEvent) -> String? {
        var trial = trial
        for target in history.versions where LawTrial.requiresImage(history, from: event.born, to: target.number) {
            trial.check(event, at: target.number)
        }
        let failure = trial.tally.failures.first { $0.verdict.weight == .required && $0.verdict.error == nil }
        return failure.map { failure in
            "\(failure.verdict.law) does not hold for \(event.type) of \(event.born) at \(failure.target): "
                + "\(String(decoding: event.payload, as: UTF8.self))"
        }
    }
}
