import Bytes
import EventModel
import Testing

@testable import SchemaEvolution

/// A viewer over one convert of a required member `v`.
private func viewer(_ old: String, _ to: String, _ using: String, _ new: String, more: String = "") throws -> PathRunner {
    let history = try history(
        before: "required: [v], properties: {v: \(old)}", ops: "convert: {path: /v, to: \(to), using: \(using)\(more)}",
        after: "required: [v], properties: {v: \(new)}")
    #expect(history.check().errors == [])
    return PathRunner(history)
}

private let text = "{type: string}"
private let integer = "{type: integer}"
private let number = "{type: number}"
private let time = "{type: string, format: date-time}"

struct Case: Sendable, CustomStringConvertible {
    var old, to, using, new: String
    /// Values that go up and come back as they were.
    var pairs: [(String, String)] = []
    /// Accepted on the way up, and counted.
    var loose: [(String, String)] = []
    /// Accepted on the way down, and counted.
    var looseDown: [(String, String)] = []
    var refused: [String] = []
    var refusedDown: [String] = []

    var description: String { "\(using) to \(to)" }
}

private let cases = [
    Case(
        old: text, to: "integer", using: "integer-text", new: integer,
        pairs: [
            (#""42""#, "42"), (#""-7""#, "-7"), (#""0""#, "0"), (#""123456789012345678901234567890""#, "123456789012345678901234567890"),
        ],
        loose: [(#""007""#, "7"), (#""+5""#, "5"), (#""-012""#, "-12")], looseDown: [(#""100""#, "1e2")],
        refused: [#""""#, #""x""#, #""1.5""#, #""-0""#, #"" 1""#, "true"], refusedDown: [#""4""#, "1.5"]),
    Case(
        old: integer, to: "string", using: "integer-text", new: text, pairs: [("42", #""42""#)], looseDown: [("7", #""007""#)],
        refusedDown: [#""x""#]),
    Case(
        old: text, to: "number", using: "number-text", new: number,
        pairs: [(#""2.50""#, "2.50"), (#""1e3""#, "1e3"), (#""-0.1""#, "-0.1")],
        loose: [(#""+2.5""#, "2.5"), (#""02.5""#, "2.5")], refused: [#""-0.0""#, #""two""#, #""1,5""#]),
    Case(
        old: text, to: "boolean", using: "boolean-text", new: "{type: boolean}", pairs: [(#""true""#, "true"), (#""false""#, "false")],
        loose: [(#""TRUE""#, "true")], refused: [#""yes""#, "1"], refusedDown: ["1"]),
    Case(
        old: text, to: "integer", using: "{decimal: {scale: 2}}", new: integer,
        pairs: [
            (#""12.50""#, "1250"), (#""-0.05""#, "-5"), (#""0.00""#, "0"), (#""123456789012345678901.23""#, "12345678901234567890123"),
        ], loose: [(#""12.5""#, "1250"), (#""12""#, "1200"), (#""007.00""#, "700"), (#""1.2300""#, "123")],
        looseDown: [(#""1.00""#, "1e2")], refused: [#""-0.00""#, #""1.234""#, #""1,50""#, #""""#, #"".5""#], refusedDown: ["1.5"]),
    Case(
        old: integer, to: "string", using: "epoch-seconds", new: time,
        pairs: [(#"1767225600"#, #""2026-01-01T00:00:00Z""#), ("0", #""1970-01-01T00:00:00Z""#), ("-1", #""1969-12-31T23:59:59Z""#)],
        looseDown: [("1767225600", #""2026-01-01T02:00:00+02:00""#), ("1767225600", #""2026-01-01T00:00:00.9Z""#)],
        refused: ["253402300800", #""2026""#, "1e400"], refusedDown: [#""2026-01-01""#, #""2016-12-31T23:59:60Z""#]),
    Case(
        old: number, to: "string", using: "{epoch-seconds: {origin: \"2001-01-01T00:00:00Z\", digits: 3}}", new: time,
        pairs: [
            ("788918400.123", #""2026-01-01T00:00:00.123Z""#), ("788918400", #""2026-01-01T00:00:00.000Z""#),
            ("-0.5", #""2000-12-31T23:59:59.500Z""#),
        ],
        loose: [("788918400.1239", #""2026-01-01T00:00:00.123Z""#)], looseDown: [("788918400.1", #""2026-01-01T00:00:00.1Z""#)]),
    Case(
        old: number, to: "string", using: "{epoch-seconds: {digits: 9}}", new: time,
        pairs: [
            ("2000000000", #""2033-05-18T03:33:20.000000000Z""#),
            ("9223372036.854775807", #""2262-04-11T23:47:16.854775807Z""#),
            ("-9223372036.854775808", #""1677-09-21T00:12:43.145224192Z""#),
        ], refused: ["9223372037", "9223372036.854775808", "-9223372036.854775809", "-9223372036.8547758081"],
        refusedDown: [
            #""9999-12-31T00:00:00Z""#, #""0000-01-01T00:00:00Z""#, #""2262-04-11T23:47:16.854775808Z""#,
            #""1677-09-21T00:12:43.145224191Z""#,
        ]),
    Case(
        old: integer, to: "string", using: "{epoch-seconds: {origin: \"2001-01-01T00:00:00Z\"}}", new: time,
        pairs: [("0", #""2001-01-01T00:00:00Z""#), ("252423993599", #""9999-12-31T23:59:59Z""#)],
        refused: ["252423993600", "9223372036854775807"], refusedDown: [#""9999-12-31T23:59:59-00:01""#]),
    Case(
        old: integer, to: "string", using: "epoch-millis", new: time, pairs: [("1767225600123", #""2026-01-01T00:00:00.123Z""#)],
        looseDown: [("1767225600000", #""2026-01-01T00:00:00Z""#)], refused: ["true"]),
    Case(
        old: time, to: "string", using: "rfc3339-date", new: "{type: string, format: date}",
        pairs: [(#""2026-03-01T00:00:00Z""#, #""2026-03-01""#)],
        loose: [(#""2026-03-01T10:00:00+02:00""#, #""2026-03-01""#)], refused: [#""today""#], refusedDown: [#""2026-02-30""#]),
    Case(
        old: text, to: "string", using: "{local-time: {offset: Z}}", new: time,
        pairs: [(#""2025-06-24 14:36:25""#, #""2025-06-24T14:36:25Z""#)],
        loose: [(#""2025-06-24T14:36:25""#, #""2025-06-24T14:36:25Z""#)],
        looseDown: [(#""2025-06-24 12:36:25""#, #""2025-06-24T14:36:25+02:00""#)], refused: [#""2025-06-31 00:00:00""#, #""24.06.2025""#]),
    Case(
        old: text, to: "string", using: "{local-time: {offset: \"+02:00\"}}", new: time,
        pairs: [(#""2025-06-24 14:36:25""#, #""2025-06-24T14:36:25+02:00""#)],
        looseDown: [(#""2025-06-24 16:36:25""#, #""2025-06-24T14:36:25Z""#)]),
    Case(
        old: integer, to: "integer", using: "{scale: {num: 100, den: 1}}", new: integer, pairs: [("12", "1200"), ("-3", "-300")],
        refused: [#""12""#], refusedDown: ["1250", #""1200""#]),
    Case(
        old: integer, to: "number", using: "{scale: {num: 1, den: 100}}", new: number, pairs: [("1250", "12.5"), ("100", "1")],
        refusedDown: ["0.001"]),
]

private let cutTimes: [(using: String, number: String, cut: String, text: String, same: String)] = [
    ("epoch-seconds", "-0.1", "-1", "1969-12-31T23:59:59.9Z", "1969-12-31T23:59:59Z"),
    ("epoch-seconds", "-1", "-1", "1969-12-31T23:59:59Z", "1969-12-31T23:59:59Z"),
    ("epoch-seconds", "-1.000001", "-2", "1969-12-31T23:59:58.999999Z", "1969-12-31T23:59:58Z"),
    ("epoch-seconds", "0.9", "0", "1970-01-01T00:00:00.9Z", "1970-01-01T00:00:00Z"),
    ("epoch-millis", "-0.5", "-1", "1969-12-31T23:59:59.9995Z", "1969-12-31T23:59:59.999Z"),
    ("{epoch-seconds: {digits: 3}}", "-1.5009", "-1.501", "1969-12-31T23:59:58.4991Z", "1969-12-31T23:59:58.499Z"),
    (
        "{epoch-seconds: {digits: 1, origin: \"2001-01-01T00:00:00Z\"}}", "-0.01", "-0.1", "2000-12-31T23:59:59.99Z",
        "2000-12-31T23:59:59.9Z"
    ),
]

@Test("a moment is cut towards the past, whether it is read as a number or as a text, and what was cut stays", arguments: cutTimes)
func cutMoments(_ one: (using: String, number: String, cut: String, text: String, same: String)) throws {
    let viewer = try viewer(number, "string", one.using, time)
    #expect(try viewer.up("{\"v\":\(one.number)}") == "{\"v\":\"\(one.same)\"}")
    #expect(try viewer.down("{\"v\":\"\(one.text)\"}") == "{\"v\":\(one.cut)}")
    #expect(try viewer.down("{\"v\":\"\(one.same)\"}") == "{\"v\":\(one.cut)}")
    #expect(try viewer.up("{\"v\":\(one.cut)}") == "{\"v\":\"\(one.same)\"}")
}

@Test("a codec takes values there and back", arguments: cases)
func pairs(_ one: Case) throws {
    let viewer = try viewer(one.old, one.to, one.using, one.new)
    for (low, high) in one.pairs {
        #expect(try viewer.up("{\"v\":\(low)}") == "{\"v\":\(high)}")
        #expect(try canonical(try viewer.down("{\"v\":\(high)}")) == canonical("{\"v\":\(low)}"))
    }
    #expect(viewer.counts.nonCanonical == 0)
}

@Test("what a codec can read though it would not write it so is accepted and counted", arguments: cases)
func loose(_ one: Case) throws {
    let viewer = try viewer(one.old, one.to, one.using, one.new)
    for (low, high) in one.loose { #expect(try viewer.up("{\"v\":\(low)}") == "{\"v\":\(high)}") }
    for (low, high) in one.looseDown { #expect(try viewer.down("{\"v\":\(high)}") == "{\"v\":\(low)}") }
    #expect(viewer.counts.nonCanonical == one.loose.count + one.looseDown.count)
    let strict = try strictViewer(one)
    for (low, _) in one.loose { #expect(try failure { try strict.up("{\"v\":\(low)}") }.expected == "in canonical form") }
}

private func strictViewer(_ one: Case) throws -> PathRunner {
    try viewer(one.old, one.to, one.using, one.new, more: ", canonical: require")
}

@Test("what a codec can't read is one typed error", arguments: cases)
func refusals(_ one: Case) throws {
    let viewer = try viewer(one.old, one.to, one.using, one.new)
    for value in one.refused {
        let refused = try failure { try viewer.up("{\"v\":\(value)}") }
        #expect(refused.pointer == "/v" && refused.op == "convert (op 1)" && refused.step == SchemaVersion(2) && !refused.expected.isEmpty)
        #expect(refused.born == SchemaVersion(1) && refused.target == SchemaVersion(2) && refused.type == "E")
    }
    for value in one.refusedDown { #expect(try failure { try viewer.down("{\"v\":\(value)}") }.pointer == "/v") }
}

@Test("codecs leave null alone")
func nulls() throws {
    let viewer = try viewer("{type: [string, \"null\"]}", "integer", "integer-text", "{type: [integer, \"null\"]}")
    #expect(try viewer.up(#"{"v":null}"#) == #"{"v":null}"#)
    #expect(try viewer.down(#"{"v":null}"#) == #"{"v":null}"#)
}

@Test("a table maps words both ways, and newer words by its down")
func tables() throws {
    let viewer = try viewer(
        "{type: string, enum: [cc, bt]}", "string", "{table: {map: {cc: card, bt: transfer}, down: {coin: bt}}}",
        "{type: string, enum: [card, transfer, coin]}")
    #expect(viewer.history.opClass(from: SchemaVersion(1), to: SchemaVersion(2)) == .iso)
    #expect(try viewer.up(#"{"v":"cc"}"#) == #"{"v":"card"}"#)
    #expect(try viewer.down(#"{"v":"transfer"}"#) == #"{"v":"bt"}"#)
    #expect(try viewer.down(#"{"v":"coin"}"#) == #"{"v":"bt"}"#)
    #expect(try failure { try viewer.up(#"{"v":"xx"}"#) }.expected == "one of bt, cc")
}

@Test("a table may keep other values or give them one word")
func tablesOtherwise() throws {
    let keep = try viewer(text, "string", "{table: {map: {cc: card}, otherwise: keep}}", text)
    #expect(try keep.up(#"{"v":"a\"b"}"#) == #"{"v":"a\"b"}"#)
    #expect(try keep.down(#"{"v":"x"}"#) == #"{"v":"x"}"#)
    let other = try viewer(
        "{type: integer}", "string", "{table: {map: {\"1\": one}, otherwise: {value: many}, down: {many: 2}, because: counts are over}}",
        "{type: string, enum: [one, many]}")
    #expect(try other.up(#"{"v":1}"#) == #"{"v":"one"}"#)
    #expect(try other.up(#"{"v":9}"#) == #"{"v":"many"}"#)
    #expect(try other.down(#"{"v":"many"}"#) == #"{"v":2}"#)
    #expect(try other.down(#"{"v":"one"}"#) == #"{"v":1}"#)
}

@Test("a scale rounds only where it is told to")
func scales() throws {
    let viewer = try viewer(integer, "integer", "{scale: {num: 1, den: 100, round: half-even}}", integer)
    #expect(try viewer.up(#"{"v":250}"#) == #"{"v":2}"#)
    #expect(try viewer.up(#"{"v":350}"#) == #"{"v":4}"#)
    #expect(try viewer.down(#"{"v":4}"#) == #"{"v":400}"#)
    #expect(viewer.history.opClass(from: SchemaVersion(1), to: SchemaVersion(2)) == .narrow)
}

@Test("a table that makes texts of numbers refuses a number that it would keep, and a number that it surely meets is a finding")
func keptOfAnotherKind() throws {
    func table(_ shape: String) throws -> History {
        try history(
            before: "required: [n], properties: {n: {\(shape)}}",
            ops: "convert: {path: /n, to: string, using: {table: {map: {1: one}, otherwise: keep}}}",
            after: "required: [n], properties: {n: {type: string}}")
    }
    let viewer = PathRunner(try table("type: integer"))
    #expect(try viewer.up(#"{"n":1}"#) == #"{"n":"one"}"# && viewer.down(#"{"n":"one"}"#) == #"{"n":1}"#)
    #expect(try failure { try viewer.up(#"{"n":7}"#) }.pointer == "/n")
    #expect(try failure { try viewer.down(#"{"n":"seven"}"#) }.pointer == "/n")
    #expect(try table("type: integer, enum: [1, 7]").check().errors.contains { $0.contains("the table keeps 7") })
}

@Test(
    "a number that is too far from 1 to be computed with is refused with the exponents that it may have",
    arguments: ["1e10000", "1e-10000"])
func farNumbers(_ number: String) throws {
    func words(_ to: String, _ using: String, _ new: String) throws -> String {
        let history = try history(
            before: "properties: {v: {type: number}}", ops: "convert: {path: /v, to: \(to), using: \(using)}",
            after: "properties: {v: {type: \(new)}}")
        return try failure { try PathRunner(history).up("{\"v\":\(number)}") }.expected
    }
    let exponents = "with an exponent from -9999 to 9999"
    #expect(try words("number", "{scale: {num: 10}}", "number") == "a number \(exponents)")
    #expect(try words("string", "integer-text", "string") == "an integer \(exponents)")
    #expect(try words("string", "{decimal: {scale: 2}}", "string") == "an integer \(exponents)")
    for shape in ["type: integer", "type: number, minimum: 0"] {
        let events = try history(["events: {E: {properties: {v: {\(shape)}}}}"])
        let event = try events.requireShape(of: "E", at: SchemaVersion(1))
        let error = #expect(throws: ShapeError.self) { try event.validate(Array("{\"v\":\(number)}".utf8).lent) }
        #expect(error.map { "\($0)" } == "/v should be a number \(exponents), found \(number)")
    }
}
