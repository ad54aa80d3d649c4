internal import Bytes

/// The name of an event type, a member, a read model or an index; two names are equal if their bytes are.
///
/// `String` treats canonically equivalent texts as equal, such as `é` in one character and in two (UAX #15), and so do the keys of
/// `Set<String>` and `Dictionary<String, …>`. JSON, the log and PostgreSQL distinguish them, so definitions must do so too.
package struct Name: Hashable, Comparable, Sendable, CustomStringConvertible, ExpressibleByStringLiteral {
    package let text: String

    package init(_ text: String) { self.text = text }
    package init(stringLiteral text: String) { self.text = text }

    package var description: String { text }

    package static func == (left: Name, right: Name) -> Bool { left.text.isSame(as: right.text) }

    /// Bytewise order, as in C.
    package static func < (left: Name, right: Name) -> Bool { left.text.utf8.lexicographicallyPrecedes(right.text.utf8) }

    // Equal bytes have equal hashes. Canonically equivalent texts also have equal hashes, which only costs a comparison.
    package func hash(into hasher: inout Hasher) { hasher.combine(text) }
}

extension String {
    /// Whether two names have the same bytes.
    package func isSame(as other: String) -> Bool { Bytes.areSame(self, other) }
}

extension Collection<String> {
    /// Whether one of the names has exactly these bytes.
    package func has(_ name: String) -> Bool { contains { $0.isSame(as: name) } }

    package func place(of name: String) -> Index? { firstIndex { $0.isSame(as: name) } }
}

extension Dictionary where Key == Name {
    /// The keys, sorted by their bytes.
    package var sortedNames: [String] { keys.sorted().map(\.text) }

    package subscript(_ name: String) -> Value? {
        get { self[Name(name)] }
        set { self[Name(name)] = newValue }
    }

    package subscript(_ name: String, default value: @autoclosure () -> Value) -> Value {
        get { self[Name(name), default: value()] }
        set { self[Name(name)] = newValue }
    }
}

extension Set<Name> {
    package init(of names: some Sequence<String>) { self.init(names.map { Name($0) }) }

    package func contains(_ name: String) -> Bool { contains(Name(name)) }

    package mutating func formUnion(_ names: [String]) { formUnion(names.map { Name($0) }) }

    @discardableResult
    package mutating func insert(_ name: String) -> Bool { insert(Name(name)).inserted }
}
