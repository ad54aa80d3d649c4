import Testing

/// Numbers that a row, a file or a caller says may be any: what counts with them stays at the ends of its type (`Bytes/Sums.swift`, and the
/// totals of `Position`, `Revision`, `SchemaVersion` and `Epoch`), where the machine's operators would end the process.
@Suite("Arithmetic on what was read")
struct ArithmeticTests {
    /// What is wrong with a line of code; nil where nothing is.
    private static func complaint(_ line: String, room: String) -> String? {
        // The numbers themselves are made there.
        if room == "EventModel" || room == "Bytes" { return nil }
        // A look for words costs a small part of what the expressions do.
        if !["rawValue", "reduce(", "Int"].contains(where: line.contains) { return nil }
        let operation = #/rawValue (\+|-|\*|\.\.\.|\.\.<) |( \+| -| \*|\.\.\.|\.\.<) [\w.$!?]*rawValue(?!\w)/#
        if line.contains(operation) { return "say .next, .previous, .plus(n), .events(after:) or .through(last)" }
        if line.contains(#/reduce\(0\) \{ ?\$0 \+ /#) { return "say .sum { }" }
        let plain = #/(?:^|[^A-Za-z])(U?Int)(8|16|32|64)?\((?!exactly|clamping|truncatingIfNeeded|bitPattern)/#
        for match in line.matches(of: plain) {
            let inside = argument(line[match.range.upperBound...])
            if inside.contains(#/\.rounded\(|[sS]econds(?!\w)|Double\(|\/ \.(milli|micro)?seconds/#), !inside.contains("nearest(") {
                return "an Int of a Double traps: say nearest(_:)"
            }
            if match.1 == "Int", inside.contains(#/^[\w.$]*(load\(U?Int64|rawValue$)/#) { return "say Int(clamping:)" }
        }
        return nil
    }

    /// What stands before the parenthesis that closes it.
    private static func argument(_ rest: Substring) -> Substring {
        var depth = 1
        let end = rest.firstIndex { character in
            depth += character == "(" ? 1 : character == ")" ? -1 : 0
            return depth == 0
        }
        return rest[..<(end ?? rest.endIndex)]
    }

    /// Numbers of the house and of the system, which nobody else says.
    private static let known = ["Sources/Platform/", "Sources/PostgreSQL/Deadline.swift", "Sources/SchemaEvolution/Paths/Fused/"]

    @Test("no operator, range, sum or conversion of the machine meets a number that was read")
    func sources() throws {
        for file in try SourceFile.all(below: "Sources") where !Self.known.contains(where: file.path.hasPrefix) {
            for (number, line) in file.code {
                let complaint = Self.complaint(line, room: file.room)
                #expect(complaint == nil, "\(file.path):\(number) \(complaint ?? ""): \(line)")
            }
        }
    }

    @Test(
        "a planted one is found",
        arguments: [
            "let next = Position(last.rawValue + 1)", "let lag = end.rawValue - place.rawValue",
            "for n in floor.rawValue ... top.rawValue {",
            "report.events = census.reduce(0) { $0 + $1.count }", "let whole = Int(seconds.rounded())",
            "wait(Int(left / .milliseconds(1)))",
            "let size = Int(header.load(UInt64.self, at: 8))", "let index = Int(position.rawValue)", "UInt64(Double(bytes) * scale)",
        ])
    func planted(_ line: String) { #expect(Self.complaint(line, room: "Migration") != nil) }

    @Test(
        "what can't trap is not",
        arguments: [
            "let row = bytes(mark.epoch.rawValue) + bytes(mark.position.rawValue)", "let place = tag &+ position.rawValue",
            "let all = census.sum(\\.count)", "let index = Int(clamping: position.events(after: first))",
            "report.events = nearest(seconds)",
        ])
    func sound(_ line: String) { #expect(Self.complaint(line, room: "Migration") == nil) }
}
