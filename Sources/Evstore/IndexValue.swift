internal import Bytes
public import EventModel
internal import JSONText

/// A value by which an index is searched: a JSON value, written as a literal or made from a Swift value.
///
///     try await store.query("orders", index: "by-total", equals: ["paid"], from: 100, to: 200)
public struct IndexValue: Hashable, Sendable, ExpressibleByStringInterpolation, ExpressibleByIntegerLiteral, ExpressibleByBooleanLiteral,
    ExpressibleByNilLiteral
{
    /// JSON text in UTF-8 without spaces around it.
    let json: [UInt8]

    public init(_ text: String) { json = Array(JSONValue.string(text).text.utf8) }
    public init(_ number: Int) { json = Array(String(number).utf8) }
    /// Written as members of the type are: moments are compared as texts.
    public init(_ time: Timestamp) { self.init(time.description) }
    public init(_ flag: Bool) { json = Array((flag ? "true" : "false").utf8) }
    public init(stringLiteral text: String) { self.init(text) }
    public init(integerLiteral number: Int) { self.init(number) }
    public init(booleanLiteral flag: Bool) { self.init(flag) }
    /// The value that rows without the member have, too.
    public init(nilLiteral: ()) { json = Array("null".utf8) }

    /// Parses any JSON text, such as a number with a fraction: `19.90`; nil where it is not JSON.
    public init?(json text: String) {
        let value: JSONValue
        do { value = try JSONValue(parsing: Array(text.utf8).lent) } catch { return nil }
        // Numbers keep their digits.
        json = Array(value.text.utf8)
    }

    /// Parses what a person writes: JSON where the text is JSON, else a string.
    package init(argument: String) { self = IndexValue(json: argument) ?? IndexValue(argument) }
}
