internal import EventLog
internal import EventModel

extension SignedState {
    /// What of it is another now, and what has come since, which is a note.
    ///
    /// What the store itself may never do is the work of others (STORE107, STORE109, STORE110). What it does only when it is told to is
    /// told (STORE108): nobody but who signs can know whether that was so. What only ever grows may have grown (STORE112).
    /// - Parameters:
    ///   - ledger: of what was forgotten, as it is now.
    ///   - signed: when, in words.
    func findings(_ now: SignedState, _ ledger: [ForgottenLedger.Entry], signed: String) -> [Finding] {
        var comparison = Comparison(signed: signed)
        comparison.compareVersions(self, now)
        comparison.compareDefinitions(self, now)
        comparison.compareKeys(keys, now.keys)
        comparison.compareLedger(forgotten, now.forgotten == nil ? nil : ledger)
        return comparison.all
    }
}

private struct Comparison {
    let signed: String
    private var findings: [Finding] = []
    private var news: [String] = []

    private static let keep: Advice = "keep these files as they are; restore a backup beside them and compare: \(.restore)"

    init(signed: String) { self.signed = signed }

    var all: [Finding] {
        let note = Finding(id: "STORE112", severity: .note, message: "since then (\(signed)): " + news.joined(separator: "; "))
        return findings + (news.isEmpty ? [] : [note])
    }

    private mutating func note(_ id: String, _ message: String, _ advice: Advice = keep) {
        findings.append(Finding(id: id, message: message, advice: advice))
    }

    mutating func compareVersions(_ was: SignedState, _ now: SignedState) {
        for (index, digest) in was.versions.enumerated() where index >= now.versions.count || now.versions[index] != digest {
            let number = SchemaVersion(UInt32(index + 1))
            let what = "the stored \(number) is \(index < now.versions.count ? "not what" : "gone, which") was signed \(signed)"
            if number <= was.fixed {
                note("STORE107", "\(what): what its events mean was changed behind the store's back, or an older copy was put back")
            } else {
                note("STORE108", "\(what); no event was born at it then", Self.accept("a replay"))
            }
        }
        let added = (was.versions.count ..< max(was.versions.count, now.versions.count)).map { "\(SchemaVersion(UInt32($0 + 1)))" }
        if !added.isEmpty { news.append("\(added.joined(separator: ", ")) added") }
        for (name, old, new) in [("oldest promised", was.floor, now.floor), ("live", was.live, now.live)] where old != new {
            news.append("\(new) is \(name), and \(old) was")
        }
    }

    mutating func compareDefinitions(_ was: SignedState, _ now: SignedState) {
        for definition in was.definitions {
            let new = now.definitions.first { ($0.name, $0.since) == (definition.name, definition.since) }
            guard new != definition else { continue }
            note(
                "STORE108",
                "the definition of \(definition.name) since \(definition.since) is "
                    + "\(new == nil ? "gone, which" : "not what") was signed \(signed)",
                Self.accept("a replay"))
        }
        for definition in now.definitions
        where !was.definitions.contains(where: { ($0.name, $0.since) == (definition.name, definition.since) }) {
            news.append("definition of \(definition.name) since \(definition.since) added")
        }
    }

    mutating func compareKeys(_ was: SignedState.Keys?, _ now: SignedState.Keys?) {
        guard let was, let now else {
            if was != now {
                note(
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
            note(
                "STORE110",
                "an older file keys was put back: its change \(now.generation), where change \(was.generation) was signed "
                    + signed + back.joined(),
                "put the newer one back, or give up again what was given up (\(.listKeys)), and sign anew")
        } else if now.generation == was.generation, now != was {
            note("STORE110", "the file keys is not what was signed \(signed), and its number of changes is the same")
        }
        guard now.generation > was.generation else { return }
        for entry in gone where !new.contains(where: { ($0.kind, $0.id) == (entry.kind, entry.id) }) {
            news.append("\(name(entry)) retired")
        }
        for entry in new {
            let isOther = gone.contains { ($0.kind, $0.id) == (entry.kind, entry.id) }
            news.append("\(name(entry)) \(isOther ? "retired and made anew" : "added")")
        }
    }

    mutating func compareLedger(_ was: SignedState.Ledger?, _ now: [ForgottenLedger.Entry]?) {
        // Whether events are sealed has been told.
        guard let was, let now else { return }
        let advice: Advice = "put the newer files back, or forget again: \(.forget(nil, store: nil)); then sign anew"
        if now.count < was.count {
            note(
                "STORE109", "the ledger of what was forgotten has \(now.count) rows, and had \(was.count) when it was signed \(signed)",
                advice)
        } else if SignedState.Ledger(Array(now.prefix(was.count))) != was {
            note("STORE109", "the ledger of what was forgotten does not begin with the rows that were signed \(signed)", advice)
        } else if now.count > was.count {
            news.append("\(now.count - was.count) more forgotten")
        }
    }

    private static func accept(_ cause: String) -> Advice {
        "if it came with \(cause) of yours (\(.journal)), say so: \(.acceptSigned)"
    }
}
