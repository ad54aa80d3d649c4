internal import Bytes
internal import EventLog
internal import EventModel
internal import Hashing
internal import JSONText
internal import Migration
internal import Projections
internal import SchemaEvolution
internal import Sealing

/// The parts of a store that a signed head covers in addition to the log: version files, definitions, keys, and the ledger of what was
/// forgotten.
struct SignedState: Hashable, Sendable {
    struct Definition: Hashable, Sendable {
        var name: String
        var since: SchemaVersion
        /// SHA-256 of its canonical JSON, in hexadecimal like all digests here.
        var digest: String
    }

    struct Keys: Hashable, Sendable {
        struct Entry: Hashable, Sendable {
            var kind: String
            var id: UInt32
            /// SHA-256 of the entry's bytes.
            var digest: String
        }

        /// Grows by one with each change.
        var generation: UInt64
        /// SHA-256 of the whole file.
        var digest: String
        var entries: [Entry]
    }

    struct Ledger: Hashable, Sendable {
        var count: Int
        /// SHA-256 over its rows: number, code, last slot and proof of each.
        var digest: String
    }

    // The fourth number, the head, is the count of `versions`.
    var floor, live, top: SchemaVersion
    /// The newest version whose file may no longer change: an event was born there, or the version was released.
    var fixed: SchemaVersion
    /// The digest of each version file, from version 1 on.
    var versions: [String]
    var definitions: [Definition]
    /// Nil where events are not sealed; `forgotten` is nil then too.
    var keys: Keys?
    var forgotten: Ledger?
}

extension SignedState {
    /// Reads the current state of the store, and its ledger: an earlier head covers only the first rows of the ledger.
    static func read(_ context: MigrationContext) throws(EvstoreError) -> (state: SignedState, ledger: [ForgottenLedger.Entry]) {
        try converting {
            let log = context.log
            let ledger = try log.ledger()
            let keys = try log.readKeyFile()
            return try log.read { reader in
                let numbers = reader.stamp
                let history = try RegisteredRows.history(reader.rows(.schemas), in: context.store)
                // A definition that begins above the registered versions is not in use yet.
                let definitions = try RegisteredRows.definitions(reader.rows(.definitions)).through(history.head).stored
                let born = try reader.census().filter { $0.count > 0 }.map(\.born)
                let released = history.versions.filter(\.isReleased).map(\.number)
                let state = SignedState(
                    floor: numbers.floor, live: numbers.live, top: numbers.top, fixed: (born + released).max() ?? SchemaVersion(0),
                    versions: history.versions.map(\.digest.hex), definitions: definitions.map(Definition.init).sorted(),
                    keys: keys.map(Keys.init), forgotten: keys.map { _ in Ledger(ledger) })
                return (state, ledger)
            }
        }
    }
}

extension SignedState.Definition: Comparable {
    init(_ stored: StoredDefinition) {
        self.init(name: stored.name, since: stored.since, digest: SHA256Hasher.hash(stored.json).hex)
    }

    static func < (a: Self, b: Self) -> Bool { (a.name, a.since) < (b.name, b.since) }
}

extension SignedState.Keys {
    init(_ file: KeyFile) {
        generation = file.generation
        digest = SHA256Hasher.hash(file.bytes).hex
        entries = (file.slots.sorted { $0.id < $1.id } + file.dataKeys.sorted { $0.id < $1.id }).map { entry in
            let kind: StoreKey.Kind = entry.kind == .slot ? .slot : .data
            return Entry(kind: kind.rawValue, id: entry.id, digest: SHA256Hasher.hash(entry.bytes).hex)
        }
    }
}

extension SignedState.Ledger {
    init(_ entries: [ForgottenLedger.Entry]) {
        var hasher = SHA256Hasher()
        for entry in entries {
            hasher.update(entry.number)
            hasher.update(entry.forgotten.code)
            hasher.update(UInt64(entry.forgotten.through))
            hasher.update(entry.proof)
        }
        (count, digest) = (entries.count, hasher.finalize().hex)
    }
}

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

/// The members of a signed head's JSON.
extension SignedState {
    static let names = ["versions", "definitions", "keys", "forgotten"]

    func set(in fields: inout JSONRow) {
        var versions = JSONRow()
        for (name, version) in [("floor", floor), ("live", live), ("top", top), ("fixed", fixed)] {
            versions.set(name, UInt64(version.rawValue))
        }
        versions.set("files", .array(self.versions.map(JSONValue.string)))
        fields.set("versions", versions.value)
        fields.set("definitions", .array(definitions.map(\.value)))
        fields.set("keys", keys?.value ?? .null)
        fields.set("forgotten", forgotten?.value ?? .null)
    }

    /// Nil where a member is missing, superfluous or invalid.
    init?(_ fields: JSONRow) {
        guard let versions = JSONRow(fields["versions"], members: 5), let floor = versions.version("floor"),
            let live = versions.version("live"), let top = versions.version("top"), let fixed = versions.version("fixed"),
            let files = versions.list("files", of: { value in value.digest }),
            let definitions = fields.list("definitions", of: Definition.init)
        else { return nil }
        let (keys, forgotten) = (fields["keys"], fields["forgotten"])
        self.init(
            floor: floor, live: live, top: top, fixed: fixed, versions: files, definitions: definitions,
            keys: keys.flatMap(Keys.init), forgotten: forgotten.flatMap(Ledger.init))
        guard (self.keys == nil) == (keys == .null), (self.forgotten == nil) == (forgotten == .null) else { return nil }
    }
}

extension SignedState.Definition {
    fileprivate var value: JSONValue {
        object(["name": .string(name), "since": .number("\(since.rawValue)"), "digest": .string(digest)])
    }

    fileprivate init?(_ value: JSONValue) {
        guard let fields = JSONRow(value, members: 3), let name = fields.text("name"), let since = fields.version("since"),
            let digest = fields["digest"]?.digest
        else { return nil }
        self.init(name: name, since: since, digest: digest)
    }
}

extension SignedState.Keys {
    fileprivate var value: JSONValue {
        object(["generation": .number("\(generation)"), "digest": .string(digest), "entries": .array(entries.map(\.value))])
    }

    fileprivate init?(_ value: JSONValue) {
        guard let fields = JSONRow(value, members: 3), let generation = fields.number("generation"), let digest = fields["digest"]?.digest,
            let entries = fields.list("entries", of: Entry.init)
        else { return nil }
        self.init(generation: generation, digest: digest, entries: entries)
    }
}

extension SignedState.Keys.Entry {
    fileprivate var value: JSONValue { object(["kind": .string(kind), "id": .number("\(id)"), "digest": .string(digest)]) }

    fileprivate init?(_ value: JSONValue) {
        guard let fields = JSONRow(value, members: 3), let kind = fields.text("kind").flatMap(StoreKey.Kind.init),
            let id = fields.number("id").flatMap(UInt32.init(exactly:)), let digest = fields["digest"]?.digest
        else { return nil }
        self.init(kind: kind.rawValue, id: id, digest: digest)
    }
}

extension SignedState.Ledger {
    fileprivate var value: JSONValue { object(["count": .number("\(count)"), "digest": .string(digest)]) }

    fileprivate init?(_ value: JSONValue) {
        guard let fields = JSONRow(value, members: 2), let count = fields.number("count").flatMap(Int.init(exactly:)),
            let digest = fields["digest"]?.digest
        else { return nil }
        self.init(count: count, digest: digest)
    }
}

private func object(_ members: KeyValuePairs<String, JSONValue>) -> JSONValue {
    .object(members.map { .init(name: $0.key, value: $0.value) })
}

extension JSONRow {
    /// Nil unless the value is an object with this many members.
    fileprivate init?(_ value: JSONValue?, members count: Int) {
        guard case .object(let members)? = value, members.count == count else { return nil }
        self.init(.object(members))
    }

    /// Nil unless the member is a list whose elements can all be made.
    fileprivate func list<T>(_ name: String, of make: (JSONValue) -> T?) -> [T]? {
        guard case .array(let values)? = self[name] else { return nil }
        let made = values.compactMap(make)
        return made.count == values.count ? made : nil
    }
}

extension JSONValue {
    /// 32 bytes as lower-case hexadecimal digits.
    var digest: String? {
        guard case .string(let text) = self, let bytes = Bytes.bytes(hex: text), bytes.count == 32, hex(bytes) == text else { return nil }
        return text
    }
}
