package import EventModel

extension [Finding] {
    private struct Cause: Hashable {
        var finding: Finding
        var rest: Substring
    }

    /// The maximum number of types that a message names.
    private static let namesMax = 20

    /// Merges findings that differ only in their type into one that names all types, at the location of the first.
    /// - Parameter ignoringPlaces: whether findings at different locations are merged too.
    package func merged(ignoringPlaces: Bool = false) -> [Finding] {
        var order: [Cause] = []
        var types: [Cause: [String]] = [:]
        var firsts: [Cause: Finding] = [:]
        for (index, finding) in enumerated() {
            var cause = Cause(finding: finding, rest: finding.message.dropFirst(finding.subject?.count ?? 0))
            (cause.finding.message, cause.finding.subject) = (finding.subject == nil ? "\(index)" : "", nil)
            if ignoringPlaces { (cause.finding.file, cause.finding.line, cause.finding.column) = (nil, nil, nil) }
            if firsts[cause] == nil {
                order.append(cause)
                firsts[cause] = finding
            }
            if let type = finding.subject { types[cause, default: []].append(type) }
        }
        return order.compactMap { cause in
            guard var finding = firsts[cause] else { return nil }
            if let names = types[cause], names.count > 1 {
                let subject = Self.list(names)
                (finding.message, finding.subject) = (subject + cause.rest, subject)
            }
            return finding
        }
    }

    private static func list(_ names: [String]) -> String {
        let shown = names.count > namesMax ? names.prefix(namesMax) + ["\(names.count - namesMax) other types"] : names[...]
        return shown.dropLast().joined(separator: ", ") + " and " + (shown.last ?? "")
    }
}
