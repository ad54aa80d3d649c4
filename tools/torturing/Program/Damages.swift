import Foundation
import Platform
import TestSupport
import Torturing

extension TortureCase {
    private static let damagesPerTrial = 40

    static let damages = TortureCase(
        "R7", "any damage to any file: bytes, headers, metas, pages cut off, exchanged, emptied",
        goal: 20_000, seconds: 30, floor: 80, runsPerTrial: damagesPerTrial
    ) { trial in
        let (shape, streams) = (trial.index % 2, (0 ..< 12).map { "note-\(1_000_000_000 + $0 * 10)" })
        let base = trial.stage.place("whole")
        try prepare(base, shape, &trial)
        let oracle = trial.stage.place("oracle")
        try SparseFile.copy(base, to: oracle)
        guard let truth = try look([oracle], streams, trial.stage).first?.sight else { throw Failure("a whole store can't be read") }
        guard truth.all?.isEmpty == false, truth.appended == 20, truth.wrong(beside: truth).isEmpty else {
            throw Failure("a whole store is read as \(truth)")
        }
        var mutants: [(scene: String, what: String)] = []
        while mutants.count < damagesPerTrial {
            let scene = trial.stage.place("damaged")
            try SparseFile.copy(base, to: scene)
            if let damage = try Damage(in: scene + "/store", &trial.chance) {
                mutants.append((scene, "\(damage.file): \(damage.what)"))
            } else {
                try FileManager.default.removeItem(atPath: scene)
            }
        }
        for (mutant, found) in zip(mutants, try look(mutants.map(\.scene), streams, trial.stage)) {
            trial.runs += 1
            let problems = found.sight?.wrong(beside: truth) ?? [found.crash ?? "nothing was said"]
            // The files are those that were looked at: what a process has done to them is part of what happened.
            if !problems.isEmpty { try trial.fail("\(mutant.what): \(problems.prefix(3).joined(separator: "; "))", scene: mutant.scene) }
        }
        for path in mutants.map(\.scene) + [base, oracle] { try FileManager.default.removeItem(atPath: path) }
    }

    /// A store of notes: closed, or left with appends ahead of LMDB.
    private static func prepare(_ scene: String, _ shape: Int, _ trial: inout Trial) throws {
        try SparseFile.copy(try trial.stage.prepared(.append).scene, to: scene)
        let appended = try trial.stage.worker("run", "append", scene, "\(trial.index)")
        guard appended.ending == .exit(0) else { throw Failure("\(appended.errors)") }
        if shape == 1 { return }
        let closed = try trial.stage.worker("look", scene + "/store")
        guard closed.ending == .exit(0) else { throw Failure("\(closed.errors)") }
    }

    private static func look(
        _ scenes: [String], _ streams: [String], _ stage: Stage
    ) throws -> [(sight: Sight?, crash: String?)] {
        var results: [(Sight?, String?)] = []
        while results.count < scenes.count {
            let rest = scenes.dropFirst(results.count).map { $0 + "/store" }
            let outcome = try stage.start(["see", streams.joined(separator: ",")] + rest, seconds: 120).wait()
            for line in outcome.lines { results.append((try JSONDecoder().decode(Sight.self, from: Data(line.utf8)), nil)) }
            guard outcome.lines.count < rest.count else { break }
            let how = outcome.hung ? "it hung for two minutes" : "\(outcome.ending)"
            results.append((nil, "the process that read it: \(how) \(outcome.errors.suffix(300))"))
        }
        return results
    }
}
