internal import EventModel

/// A value with one spelling as JSON text, so that all commands write it alike.
protocol Printable {
    func write(into json: inout [UInt8])
}

extension Printable {
    var json: [UInt8] {
        var json: [UInt8] = []
        write(into: &json)
        return json
    }
}

/// An object. It keeps the order of its members, which scripts may rely on.
struct Members: Printable, ExpressibleByDictionaryLiteral {
    private let list: [(name: String, value: any Printable)]

    init(_ list: [(name: String, value: any Printable)]) { self.list = list }
    init(dictionaryLiteral members: (String, any Printable)...) { list = members.map { (name: $0.0, value: $0.1) } }

    static func + (a: Members, b: Members) -> Members { Members(a.list + b.list) }

    func write(into json: inout [UInt8]) {
        json.append(UInt8(ascii: "{"))
        for (index, member) in list.enumerated() {
            if index > 0 { json.append(UInt8(ascii: ",")) }
            member.name.write(into: &json)
            json.append(UInt8(ascii: ":"))
            member.value.write(into: &json)
        }
        json.append(UInt8(ascii: "}"))
    }
}

/// What is printed as an object.
protocol PrintableObject: Printable {
    var members: Members { get }
}

extension PrintableObject {
    func write(into json: inout [UInt8]) { members.write(into: &json) }
}

/// What is printed as an object for programs, or as lines for people.
protocol Report: PrintableObject {
    @TextLines var lines: [String] { get }
}

/// Makes lines of texts, loops and conditions.
@resultBuilder
enum TextLines {
    static func buildExpression(_ line: String) -> [String] { [line] }
    static func buildExpression(_ lines: [String]) -> [String] { lines }
    static func buildBlock(_ parts: [String]...) -> [String] { parts.flatMap(\.self) }
    static func buildOptional(_ part: [String]?) -> [String] { part ?? [] }
    static func buildEither(first part: [String]) -> [String] { part }
    static func buildEither(second part: [String]) -> [String] { part }
    static func buildArray(_ parts: [[String]]) -> [String] { parts.flatMap(\.self) }
}

/// JSON text that was checked before.
struct CheckedJSON: Printable {
    let text: [UInt8]

    func write(into json: inout [UInt8]) { json += text }
}

extension Bool: Printable {
    func write(into json: inout [UInt8]) { json += (self ? "true" : "false").utf8 }
}

extension BinaryInteger where Self: Printable {
    func write(into json: inout [UInt8]) { json += String(self).utf8 }
}

extension Int: Printable {}
extension Int32: Printable {}
extension Int64: Printable {}
extension UInt32: Printable {}
extension UInt64: Printable {}

extension Double: Printable {
    /// A measured number, rounded to three decimal places.
    func write(into json: inout [UInt8]) { json += (isFinite ? String((self * 1_000).rounded() / 1_000) : "null").utf8 }
}

extension Duration: Printable {
    /// The seconds of a span of time.
    func write(into json: inout [UInt8]) { inSeconds.write(into: &json) }
}

extension Optional: Printable where Wrapped: Printable {
    func write(into json: inout [UInt8]) { if let self { self.write(into: &json) } else { json += "null".utf8 } }
}

extension Array: Printable where Element: Printable {
    func write(into json: inout [UInt8]) {
        json.append(UInt8(ascii: "["))
        for (index, element) in enumerated() {
            if index > 0 { json.append(UInt8(ascii: ",")) }
            element.write(into: &json)
        }
        json.append(UInt8(ascii: "]"))
    }
}

extension Dictionary: Printable where Key == String, Value: Printable {
    /// An object whose members are in the order of their names.
    func write(into json: inout [UInt8]) { Members(sorted { $0.key < $1.key }.map { ($0.key, $0.value) }).write(into: &json) }
}

extension String: Printable {
    func write(into json: inout [UInt8]) { json += jsonString.utf8 }
}

extension RawRepresentable where Self: Printable, RawValue: Printable {
    func write(into json: inout [UInt8]) { rawValue.write(into: &json) }
}

extension Position: Printable {}
extension SchemaVersion: Printable {}
extension Epoch: Printable {}

extension StreamName: Printable {
    func write(into json: inout [UInt8]) { text.write(into: &json) }
}

extension Timestamp: Printable {
    func write(into json: inout [UInt8]) { description.write(into: &json) }
}
