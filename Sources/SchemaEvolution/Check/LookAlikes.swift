package import EventModel

/// Detects names that look alike but differ: `é` in one character and in two, `Å` as a letter and as a sign (UAX #15).
package struct LookAlikes {
    // Canonical equivalence of `String`, which is avoided elsewhere, is intended here: a key finds names that look like it.
    private var spellings: [String: String] = [:]

    /// Collects the names in the events of a history.
    package init(_ history: History) { for file in history.versions { _ = check(file) } }

    init() {}

    /// The finding about a name that looks like an earlier one.
    package mutating func check(_ name: String, _ what: String, at mark: FileLocation) -> Finding? {
        guard let other = spellings[name] else {
            spellings[name] = name
            return nil
        }
        if other.isSame(as: name) { return nil }
        return Finding(
            FileRule.lookAlike, .warning, at: mark,
            "\(what) \(quoted(name)) (\(Self.points(of: name))) looks like \(Self.points(of: other)) and is another name",
            fix: "write one name in one way: events have their names byte by byte")
    }

    /// The findings about the types and members of a version, in their order.
    mutating func check(_ file: VersionFile) -> [Finding] {
        var found: [Finding] = []
        for type in file.types {
            guard let event = file.events[type] else { continue }
            if let finding = check(type, "the type", at: event.mark) { found.append(finding) }
            check(event.shape, "\(type): the member", at: event.mark, &found)
        }
        return found
    }

    private mutating func check(_ shape: Shape, _ what: String, at mark: FileLocation, _ found: inout [Finding]) {
        for property in shape.properties {
            if let finding = check(property.name, what, at: mark) { found.append(finding) }
            check(property.shape, what, at: mark, &found)
        }
        if let inner = shape.items ?? shape.additional { check(inner, what, at: mark, &found) }
    }

    /// The text with all characters beyond ASCII as code points, which distinguishes such names.
    private static func points(of name: String) -> String {
        name.unicodeScalars.map { $0.isASCII ? String($0) : "U+" + String($0.value, radix: 16, uppercase: true) }.joined(separator: " ")
    }
}
