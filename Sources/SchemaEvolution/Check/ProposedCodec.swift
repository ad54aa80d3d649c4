internal import JSONText

/// The codec that converts values of one shape to another, as far as the shapes determine it.
struct ProposedCodec {
    let using: JSONValue
    /// Whether the codec contains a placeholder that the author must replace.
    let hasPlaceholder: Bool

    /// Words that mean true, each with the word that means false.
    private static let flags = [
        "true": "false", "yes": "no", "y": "n", "on": "off", "1": "0", "t": "f", "enabled": "disabled", "active": "inactive",
    ]

    init(from old: Shape, to new: Shape) {
        if let (words, hasPlaceholder) = Self.table(from: old, to: new) {
            self.hasPlaceholder = hasPlaceholder
            using = .object([.init(name: Table.name, value: .object([.init(name: "map", value: .object(words))]))])
            return
        }
        let isTime = old.format == .dateTime || new.format == .dateTime
        let name: String? =
            switch (old.kind, new.kind) {
            case (.string, .integer), (.integer, .string): isTime ? EpochSeconds.name : IntegerText.name
            case (.string, .number), (.number, .string): isTime ? EpochSeconds.name : NumberText.name
            case (.string, .boolean), (.boolean, .string): BooleanText.name
            default: nil
            }
        (using, hasPlaceholder) = (.string(name ?? "…"), name == nil)
    }

    /// A table, if the older values are known and are more than just texts of the newer ones.
    private static func table(from old: Shape, to new: Shape) -> (rows: [JSONValue.Member], hasPlaceholder: Bool)? {
        guard let values = old.choices?.filter({ $0 != .null }), old.isScalar, new.isScalar else { return nil }
        let words = values.map(\.word)
        if old.kind == .string, words.allSatisfy({ Shape.value($0, new.kind).isCanonical(new.kind) }) { return nil }
        if new.kind == .string, new.enumeration == nil { return nil }
        let targets = new.choices?.filter { $0 != .null }.map(\.word) ?? []
        // A word for true maps to true, regardless of which side has the words.
        let truths = [truth(among: words), truth(among: targets)]
        if old.kind == .boolean || new.kind == .boolean, words.count == 2, targets.count == 2, let yes = truths[0], let other = truths[1] {
            return (
                words.map { .init(name: $0, value: Shape.value(($0 == yes) ? other : targets.first { $0 != other } ?? other, new.kind)) },
                false
            )
        }
        return (words.map { .init(name: $0, value: .string("…")) }, true)
    }

    /// The word of two that means true, provided that the other one means false.
    private static func truth(among words: [String]) -> String? {
        guard words.count == 2 else { return nil }
        return words.first { word in flags[word.lowercased()].map { no in words.contains { $0.lowercased() == no } } ?? false }
    }
}

extension JSONValue {
    /// Whether this is a value of the given kind in canonical form.
    fileprivate func isCanonical(_ kind: Shape.Kind) -> Bool { Shape(kind).rejection(of: self) == nil && canonical() == Array(text.utf8) }
}

extension Shape {
    /// All values of the shape if they are known: those of `enum` or `const`, or true and false.
    var choices: [JSONValue]? {
        if let values = enumeration ?? constant.map({ [$0] }) { return values }
        return kind == .boolean ? [.bool(true), .bool(false)] + (isNullable ? [.null] : []) : nil
    }
}
