import Torturing

/// What a job may leave behind, whatever has happened to it.
struct Verdict: Codable {
    let job: Job
    /// The scene before the job, and after a run that nothing disturbed.
    let before: Finding
    let after: Finding

    /// Events that judges have appended to see whether the log goes on.
    private static func own(_ number: Int) -> Bool { number == 2_000_000_000 || number == 2_000_000 }

    /// What is wrong with a scene; nothing where every promise was kept.
    /// - Parameter finished: whether the job has said that it is done.
    func problems(_ finding: Finding, _ promises: [Promise], finished: Bool) -> [String] {
        if let refused = finding.found.refused { return ["the store does not open: \(refused)"] }
        var problems = (finding.found.findings + finding.final.findings).map { "unsound: \($0)" }
        if let again = finding.again { problems.append("doing it again: \(again)") }
        if finding.goesOn != true { problems.append("the next append did not go to the next position") }
        if job.appends {
            if !finding.found.forgotten.isEmpty { problems.append("persons are forgotten") }
            problems += Promise.broken(promises, by: finding.found.numbers)
            let kept = before.found.numbers
            if Array(finding.found.numbers.prefix(kept.count)) != kept { problems.append("the first events are not those that were there") }
            return problems
        }
        problems += events(finding, finished) + states(finding, finished) + secrets(finding, finished) + beside(finding, finished)
        return problems
    }

    private func events(_ finding: Finding, _ finished: Bool) -> [String] {
        let found = finding.found.numbers.filter { !Self.own($0) }
        let final = finding.final.numbers.filter { !Self.own($0) }
        let (old, new) = (before.found.numbers, after.found.numbers)
        var problems: [String] = []
        if job == .importing {
            // Whole batches, in order, from the first on.
            if found.count < old.count || found != Array(new.prefix(found.count)) {
                problems.append("\(found.count) events are not the first")
            }
        } else if found != old && found != new {
            problems.append("it holds \(found.count) events, and there were \(old.count) before and \(new.count) after")
        }
        if finished, found != new { problems.append("the job was done and is undone") }
        if final != new { problems.append("done again it holds \(final.count) events, not \(new.count)") }
        return problems
    }

    private func states(_ finding: Finding, _ finished: Bool) -> [String] {
        var problems: [String] = []
        let (old, new) = (before.found, after.found)
        let found = finding.found
        if found.versions != old.versions && found.versions != new.versions {
            problems.append("versions \(found.versions) are neither state's")
        }
        if finished, found.versions != new.versions { problems.append("the job was done, and versions are \(found.versions)") }
        if finding.final.versions != new.versions {
            problems.append("done again versions are \(finding.final.versions), not \(new.versions)")
        }
        // A judge's own event is in the read model as well.
        guard !found.numbers.contains(where: Self.own) else { return problems }
        if found.numbers == old.numbers, found.versions == old.versions, found.digests != old.digests, found.digests != new.digests {
            problems.append("the read models are not those of the events")
        }
        if finding.final.digests != new.digests { problems.append("done again the read models are not those of the events") }
        return problems
    }

    /// What is forgotten and what opens the store.
    private func secrets(_ finding: Finding, _ finished: Bool) -> [String] {
        let (old, new) = (before.found, after.found)
        // A judge before this one may have appended its own event, which the job done again then forgets as well.
        let found = finding.found.forgotten.filter { !Self.own($0) }
        let final = finding.final.forgotten.filter { !Self.own($0) }
        var problems: [String] = []
        if ![old.forgotten, new.forgotten].contains(found) { problems.append("persons are forgotten in part") }
        if finished, found != new.forgotten || finding.found.keys != new.keys {
            problems.append("the job was done, and persons are known, or keys are there, that should not be")
        }
        if final != new.forgotten || finding.final.keys != new.keys {
            problems.append("done again, persons or keys are not as they should be")
        }
        return problems
    }

    private func beside(_ finding: Finding, _ finished: Bool) -> [String] {
        guard let wanted = after.finalBeside else { return [] }
        var problems: [String] = []
        if let found = finding.beside, found.refused == nil {
            let isOlder = job == .backup && found.numbers == before.beside?.numbers
            if !isOlder, found.numbers != wanted.numbers { problems.append("what was made holds \(found.numbers.count) events") }
            problems += found.findings.map { "what was made is unsound: \($0)" }
        } else if finished {
            problems.append("the job was done, and what it made is not there: \(finding.beside?.refused ?? "nothing")")
        } else if job == .backup {
            problems.append("the older backup can't be restored: \(finding.beside?.refused ?? "nothing")")
        } else if let refused = finding.beside?.refused, !Self.isAbsent(refused) {
            problems.append("something half made is there: \(refused)")
        }
        // A backup that is made again holds what the log does: also the event of a judge whose own look a power cut has ended.
        let whole = job == .backup ? finding.final.numbers : wanted.numbers
        if finding.finalBeside?.numbers != whole {
            problems.append("done again it is not whole: \(finding.finalBeside?.refused ?? "other events")")
        }
        return problems
    }

    private static func isAbsent(_ refused: String) -> Bool { refused.hasPrefix("storeNotFound") }
}
