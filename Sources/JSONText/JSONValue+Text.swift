package import Bytes

extension JSONValue {
    package init(parsing text: RawSpan, limits: JSONLimits = .none) throws(JSONError) {
        _ = try JSONScanner.validate(text, limits: limits)
        var splice = JSONEditor()
        try splice.load(text)
        self.init(splice.root, of: &splice)
        if let fault = splice.fault { throw fault }
    }

    /// The tree of one value of a loaded text.
    package init(_ node: JSONEditor.Node, of splice: inout JSONEditor) {
        switch splice.kind(node) {
        case .null: self = .null
        case .true: self = .bool(true)
        case .false: self = .bool(false)
        case .number: self = .number(String(utf8: splice.text(of: node)) ?? "0")
        case .string: self = .string(splice.string(node) ?? "")
        case .array:
            var elements: [JSONValue] = []
            var child = splice.firstChild(of: node)
            while let element = child {
                elements.append(JSONValue(element, of: &splice))
                child = splice.next(after: element)
            }
            self = .array(elements)
        case .object:
            var members: [Member] = []
            var child = splice.firstChild(of: node)
            while let member = child {
                members.append(Member(name: splice.name(of: member), value: JSONValue(member, of: &splice)))
                child = splice.next(after: member)
            }
            self = .object(members)
        }
    }

    /// Compact JSON text, with members in the order of the tree.
    package var text: String {
        var output = ByteBuffer()
        append(to: &output)
        return String(utf8: output.bytes) ?? ""
    }

    /// Appends the compact JSON text.
    package func append(to output: inout ByteBuffer) {
        switch self {
        case .null: output.append("null")
        case .bool(let value): output.append(value ? "true" : "false")
        case .number(let text): output.append(text)
        case .string(let text): appendQuoted(Array(text.utf8).lent, into: &output)
        case .array(let elements):
            output.append(UInt8(ascii: "["))
            for (index, element) in elements.enumerated() {
                if index > 0 { output.append(UInt8(ascii: ",")) }
                element.append(to: &output)
            }
            output.append(UInt8(ascii: "]"))
        case .object(let members):
            output.append(UInt8(ascii: "{"))
            for (index, member) in members.enumerated() {
                if index > 0 { output.append(UInt8(ascii: ",")) }
                appendQuoted(Array(member.name.utf8).lent, into: &output)
                output.append(UInt8(ascii: ":"))
                member.value.append(to: &output)
            }
            output.append(UInt8(ascii: "}"))
        }
    }

    /// The text that all spellings of this value share.
    ///
    /// A tree that was built by hand must hold numbers in JSON's form and no duplicate names in an object.
    package func canonical() -> [UInt8] {
        var output = ByteBuffer()
        append(to: &output)
        do throws(JSONError) {
            return try Canonical.bytes(of: output.bytes)
        } catch {
            preconditionFailure("a tree that is no JSON: \(error)")
        }
    }

    /// An equal tree whose text is the canonical text.
    package var normal: JSONValue {
        switch self {
        case .null, .bool, .string: return self
        case .number(let text):
            guard let number = NumberText(Array(text.utf8).lent) else { return self }
            var output = ByteBuffer()
            number.appendCanonical(to: &output)
            return .number(String(decoding: output.array(), as: UTF8.self))
        case .array(let elements): return .array(elements.map(\.normal))
        case .object(let members):
            return .object(
                members.map { .init(name: $0.name, value: $0.value.normal) }
                    .sorted { Canonical.precedes(Array($0.name.utf8), Array($1.name.utf8)) })
        }
    }
}
