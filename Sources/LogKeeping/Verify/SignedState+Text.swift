internal import Bytes
internal import EventModel
internal import JSONText
internal import Migration

/// The members of a signed head's JSON.
extension SignedState {
    static let names = ["versions", "definitions", "keys", "forgotten"]

    /// Sets the four members.
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
        var fields = JSONRow()
        fields.set("name", name)
        fields.set("since", UInt64(since.rawValue))
        fields.set("digest", digest)
        return fields.value
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
        var fields = JSONRow()
        fields.set("generation", generation)
        fields.set("digest", digest)
        fields.set("entries", .array(entries.map(\.value)))
        return fields.value
    }

    fileprivate init?(_ value: JSONValue) {
        guard let fields = JSONRow(value, members: 3), let generation = fields.number("generation"), let digest = fields["digest"]?.digest,
            let entries = fields.list("entries", of: Entry.init)
        else { return nil }
        self.init(generation: generation, digest: digest, entries: entries)
    }
}

extension SignedState.Keys.Entry {
    fileprivate var value: JSONValue {
        var fields = JSONRow()
        fields.set("kind", kind)
        fields.set("id", UInt64(id))
        fields.set("digest", digest)
        return fields.value
    }

    fileprivate init?(_ value: JSONValue) {
        guard let fields = JSONRow(value, members: 3), let kind = fields.text("kind").flatMap(StoreKey.Kind.init),
            let id = fields.number("id").flatMap(UInt32.init(exactly:)), let digest = fields["digest"]?.digest
        else { return nil }
        self.init(kind: kind.rawValue, id: id, digest: digest)
    }
}

extension SignedState.Ledger {
    fileprivate var value: JSONValue {
        var fields = JSONRow()
        fields.set("count", UInt64(count))
        fields.set("digest", digest)
        return fields.value
    }

    fileprivate init?(_ value: JSONValue) {
        guard let fields = JSONRow(value, members: 2), let count = fields.number("count").flatMap(Int.init(exactly:)),
            let digest = fields["digest"]?.digest
        else { return nil }
        self.init(count: count, digest: digest)
    }
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
