internal import EventLog
internal import EventModel

extension SignedState {
    /// Compares a store's state now with the signed one.
    ///
    /// STORE107, STORE109 and STORE110 are changes that no call of this library makes. STORE108 is a change that a replay may have made:
    /// only the signer can judge it. STORE112 is a note about additions, since versions, keys and the ledger grow.
    /// - Parameters:
    ///   - ledger: the store's current ledger of what was forgotten.
    ///   - signed: when the head was signed, in words.
    func findings(_ now: SignedState, _ ledger: [ForgottenLedger.Entry], signed: String) -> [Finding] {
        var comparison = Comparison(signed: signed)
        comparison.compareVersions(self, now)
        comparison.compareDefinitions(self, now)
        comparison.compareKeys(keys, now.keys)
        comparison.compareLedger(forgotten, now.forgotten == nil ? nil : ledger)
        return comparison.result
    }
}

private struct Comparison {
    let signed: String
    private var findings: [Finding] = []
    private var additions: [String] = []

    private static let keep: Advice = "keep these files as they are; restore a backup beside them and compare: \(.restore)"

    init(signed: String) { self.signed = signed }

    var result: [Finding] {
        let note = Finding(id: "STORE112", severity: .note, message: "since then (\(signed)): " + additions.joined(separator: "; "))
        return findings + (additions.isEmpty ? [] : [note])
    }

    private mutating func report(_ id: String, _ message: String, _ advice: Advice = keep) {
        findings.append(Finding(id: id, message: message, advice: advice))
    }

    mutating func compareVersions(_ was: SignedState, _ now: SignedState) {
        for (index, digest) in was.versions.enumerated() where index >= now.versions.count || now.versions[index] != digest {
            let number = SchemaVersion(UInt32(index + 1))
            let what = "the stored \(number) is \(index < now.versions.count ? "not what" : "gone, which") was signed \(signed)"
            if number <= was.fixed {
                report("STORE107", "\(what): what its events mean was changed behind the store's back, or an older copy was put back")
            } else {
                report("STORE108", "\(what); no event was born at it then", Self.accept("a replay"))
            }
        }
        let added = (was.versions.count ..< max(was.versions.count, now.versions.count)).map { "\(SchemaVersion(UInt32($0 + 1)))" }
        if !added.isEmpty { additions.append("\(added.joined(separator: ", ")) added") }
        for (name, old, new) in [("oldest promised", was.floor, now.floor), ("live", was.live, now.live)] where old != new {
            additions.append("\(new) is \(name), and \(old) was")
        }
    }

    mutating func compareDefinitions(_ was: SignedState, _ now: SignedState) {
        for definition in was.definitions {
            let new = now.definitions.first { ($0.name, $0.since) == (definition.name, definition.since) }
            guard new != definition else { continue }
            report(
                "STORE108",
                "the definition of \(definition.name) since \(definition.since) is "
                    + "\(new == nil ? "gone, which" : "not what") was signed \(signed)",
                Self.accept("a replay"))
        }
        for definition in now.definitions
        where !was.definitions.contains(where: { ($0.name, $0.since) == (definition.name, definition.since) }) {
            additions.append("definition of \(definition.name) since \(definition.since) added")
        }
    }

    mutating func compareKeys(_ was: SignedState.Keys?, _ now: SignedState.Keys?) {
        guard let was, let now else {
            if was != now {
                report(
                    "STORE110",
                    "its events \(now == nil ? "are not" : "are") sealed, "
                        + "and \(now == nil ? "were" : "were not") when it was signed \(signed)"
                )
            }
            return
        }
        func name(_ entry: SignedState.Keys.Entry) -> String { "\(entry.kind == "slot" ? "slot" : "data key") \(entry.id)" }
        let gone = was.entries.filter { !now.entries.contains($0) }
        let new = now.entries.filter { !was.entries.contains($0) }
        if now.generation < was.generation {
            let back = new.map { "; \(name($0)), given up since, is there again" } + gone.map { "; \(name($0)) is missing" }
            report(
                "STORE110",
                "an older file keys was put back: its change \(now.generation), where change \(was.generation) was signed "
                    + signed + back.joined(),
                "put the newer one back, or give up again what was given up (\(.listKeys)), and sign anew")
        } else if now.generation == was.generation, now != was {
            report("STORE110", "the file keys is not what was signed \(signed), and its number of changes is the same")
        }
        guard now.generation > was.generation else { return }
        for entry in gone where !new.contains(where: { ($0.kind, $0.id) == (entry.kind, entry.id) }) {
            additions.append("\(name(entry)) retired")
        }
        for entry in new {
            let isOther = gone.contains { ($0.kind, $0.id) == (entry.kind, entry.id) }
            additions.append("\(name(entry)) \(isOther ? "retired and made anew" : "added")")
        }
    }

    mutating func compareLedger(_ was: SignedState.Ledger?, _ now: [ForgottenLedger.Entry]?) {
        // `compareKeys` has reported whether events are sealed.
        guard let was, let now else { return }
        let advice: Advice = "put the newer files back, or forget again: \(.forget(nil, store: nil)); then sign anew"
        if now.count < was.count {
            report(
                "STORE109", "the ledger of what was forgotten has \(now.count) rows, and had \(was.count) when it was signed \(signed)",
                advice)
        } else if SignedState.Ledger(Array(now.prefix(was.count))) != was {
            report("STORE109", "the ledger of what was forgotten does not begin with the rows that were signed \(signed)", advice)
        } else if now.count > was.count {
            additions.append("\(now.count - was.count) more forgotten")
        }
    }

    private static func accept(_ cause: String) -> Advice {
        "if it came with \(cause) of yours (\(.journal)), say so: \(.acceptSigned)"
    }
}
