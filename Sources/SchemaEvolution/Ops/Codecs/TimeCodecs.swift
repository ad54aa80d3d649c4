internal import Bytes
internal import EventModel
internal import JSONText

/// `rfc3339-date`: converts a date-time to its date, as written, and a date to midnight in UTC.
struct DateOfTime: PlainCodec {
    static let name = "rfc3339-date"

    private static let midnight: [UInt8] = Array("T00:00:00Z".utf8)

    func words(_ direction: Direction) -> String { "a moment <-> its day as written; a day is its midnight in UTC" }

    var left: CodecSide { CodecSide(.dateTime) }
    var right: CodecSide { CodecSide(.text(.date)) }

    var losesRightward: Bool { true }

    func rightward(_ content: RawSpan, _ kind: JSONKind, into output: inout ByteBuffer) throws(CodecRefusal) -> Bool {
        guard kind == .string, DateTime(content) != nil else { throw CodecRefusal(expected: "a date-time of RFC 3339") }
        output.append(content.slice(0, 10))
        return content.slice(10, content.byteCount - 10).equals(Self.midnight.lent)
    }

    func leftward(_ content: RawSpan, _ kind: JSONKind, into output: inout ByteBuffer) throws(CodecRefusal) -> Bool {
        let start = output.count
        output.append(content)
        output.append(Self.midnight)
        let exists = DateTime(output.slice(start, output.count - start)) != nil
        guard kind == .string, content.byteCount == 10, exists else { throw CodecRefusal(expected: "a date of RFC 3339") }
        return true
    }
}

/// `local-time{offset}`: converts between `"2025-06-24 14:36:25"` and `"2025-06-24T14:36:25Z"`.
struct LocalTime: PairCodec {
    static let name = "local-time"

    private let suffix: [UInt8]
    private let offsetMinutes: Int

    init(_ arguments: FileNode?, in using: FileNode) throws(FileProblem) {
        guard let arguments else {
            throw using.problem("local-time needs an offset", rule: Rule.opArgument, fix: "using: {local-time: {offset: Z}}")
                .withRepairs(using.mark.repair(.set(#"{"local-time": {"offset": "Z"}}"#)))
        }
        try arguments.map("local-time", allowing: ["offset"])
        let node = try arguments.required("offset", of: "local-time", choices: "Z, or such as +02:00", guess: .string("Z"))
        let text = try node.text("offset")
        guard let probe = DateTime(Array("1970-01-01T00:00:00\(text)".utf8).lent), probe.fraction.isEmpty else {
            throw node.problem(
                "offset must be Z or such as +02:00, not \(quoted(text))", rule: Rule.opArgument, fix: "Z is UTC: offset: Z"
            ).withRepairs(node.becomes(.string("Z")))
        }
        (suffix, offsetMinutes) = (Array(text.utf8), probe.offsetMinutes)
    }

    func words(_ direction: Direction) -> String {
        "a local time at \(String(decoding: suffix, as: UTF8.self)) <-> RFC 3339; a fraction of a second is cut off"
    }

    var left: CodecSide { CodecSide(Shape(.string)) }
    var right: CodecSide { CodecSide(.dateTime) }

    func rightward(_ content: RawSpan, _ kind: JSONKind, into output: inout ByteBuffer) throws(CodecRefusal) -> Bool {
        guard kind == .string, content.byteCount == 19,
            let time = CivilTime(content, separator: UInt8(ascii: " ")) ?? CivilTime(content, separator: UInt8(ascii: "T"))
        else { throw CodecRefusal(expected: "a time such as 2025-06-24 14:36:25") }
        output.append(time)
        output.append(suffix)
        return content.byte(at: 10) == UInt8(ascii: " ")
    }

    func leftward(_ content: RawSpan, _ kind: JSONKind, into output: inout ByteBuffer) throws(CodecRefusal) -> Bool {
        guard kind == .string, let time = DateTime(content) else { throw CodecRefusal(expected: "a date-time of RFC 3339") }
        let seconds = time.civil.secondsSince1970 + Int64(offsetMinutes - time.offsetMinutes) * 60
        let local = CivilTime(secondsSince1970: seconds)
        guard local.exists else { throw CodecRefusal(expected: "a date-time within the years 0 to 9999") }
        output.append(local, separator: UInt8(ascii: " "))
        return content.byteCount == 19 + suffix.count && content.slice(19, suffix.count).equals(suffix.lent)
    }
}

/// Converts between numbers relative to an origin and RFC 3339 texts in UTC.
struct EpochForm: Sendable {
    /// The moment that number 0 denotes, in seconds since 1970-01-01T00:00:00Z.
    let origin: Int64
    /// The number counts units of 10^-unit seconds; 0 or 3.
    let unit: Int
    /// The number of fraction digits in the text.
    let digits: Int
    /// A tick is the smallest unit of the text: 10^-digits seconds.
    private let ticksInSecond, ticksInUnit: Int64

    /// The first and last second that RFC 3339 can express.
    private static var seconds: ClosedRange<Int64> { -62_167_219_200 ... 253_402_300_799 }

    init(unit: Int, digits: Int, origin: Int64 = 0) {
        (self.unit, self.digits, self.origin) = (unit, digits, origin)
        (ticksInSecond, ticksInUnit) = (Self.power(digits), Self.power(digits - unit))
    }

    private static func power(_ exponent: Int) -> Int64 { (0 ..< exponent).reduce(1) { power, _ in power * 10 } }

    var words: String {
        let precision = digits == 0 ? "in whole seconds" : "with \(digits) \(digits == 1 ? "digit" : "digits") of fraction"
        return "RFC 3339 \(precision), rounded down"
    }

    func appendText(_ content: RawSpan, _ kind: JSONKind, into output: inout ByteBuffer) throws(CodecRefusal) -> Bool {
        guard case .number = kind else { throw refusal }
        let ticks: Int64
        var isCanonical = true
        if let plain = content.plainInteger {
            let (product, isTooFar) = Int64(plain).multipliedReportingOverflow(by: ticksInUnit)
            guard !isTooFar else { throw refusal }
            ticks = product
        } else {
            guard let exact = DecimalNumber(json: content)?.scaled(byPowerOfTen: digits - unit) else { throw refusal }
            let whole = exact.rounded(toFractionDigits: 0, .down)
            guard let integer = whole.integer else { throw refusal }
            isCanonical = whole == exact
            // Rounds down, which matches truncating the fraction digits of a text.
            let (floored, isTooFar) = Int64(integer).subtractingReportingOverflow(exact.isNegative && !isCanonical ? 1 : 0)
            guard !isTooFar else { throw refusal }
            ticks = floored
        }
        let (whole, fraction) = digits == 0 ? (ticks, 0) : ticks.floored(by: ticksInSecond)
        let (seconds, isTooFar) = whole.addingReportingOverflow(origin)
        guard !isTooFar, Self.seconds.contains(seconds) else { throw refusal }
        output.append(CivilTime(secondsSince1970: seconds))
        if digits > 0 {
            output.append(UInt8(ascii: "."))
            output.append(digits: UInt64(fraction), width: digits)
        }
        output.append(UInt8(ascii: "Z"))
        return isCanonical
    }

    private var refusal: CodecRefusal {
        CodecRefusal(expected: "a number of \(unit == 0 ? "seconds" : "milliseconds") \(range)")
    }

    private var range: String {
        // With fewer digits, all years fit 64 bits.
        "within the years 0 to 9999" + (digits < 8 ? "" : " and, at \(digits) digits of fraction, 64 bits")
    }

    func appendNumber(_ content: RawSpan, _ kind: JSONKind, into output: inout ByteBuffer) throws(CodecRefusal) -> Bool {
        guard kind == .string, let time = DateTime(content) else { throw CodecRefusal(expected: "a date-time of RFC 3339") }
        let seconds = time.civil.secondsSince1970 - Int64(time.offsetMinutes) * 60
        var fraction: Int64 = 0
        for index in 0 ..< digits { fraction = fraction * 10 + (index < time.fraction.count ? Int64(time.fraction[index] - 48) : 0) }
        // Uses 128 bits: the seconds of the smallest number are rounded down, and their ticks overflow 64 bits.
        let exact = Int128(seconds - origin) * Int128(ticksInSecond) + Int128(fraction)
        guard Self.seconds.contains(seconds), let ticks = Int64(exactly: exact) else {
            throw CodecRefusal(expected: "a date-time \(range)")
        }
        let (whole, rest) = ticks.magnitude.quotientAndRemainder(dividingBy: ticksInUnit.magnitude)
        if ticks < 0 { output.append(UInt8(ascii: "-")) }
        output.append(digits: whole)
        if rest > 0 {
            // A fraction in the number has no trailing zeros.
            var (rest, width) = (rest, digits - unit)
            while rest % 10 == 0 { (rest, width) = (rest / 10, width - 1) }
            output.append(UInt8(ascii: "."))
            output.append(digits: rest, width: width)
        }
        return time.isUTC && time.fraction.count == digits
    }
}

extension ByteBuffer {
    /// Appends `2026-01-01T00:00:00`, optionally with another separator.
    mutating func append(_ time: CivilTime, separator: UInt8 = UInt8(ascii: "T")) {
        let (dash, colon) = (UInt64(UInt8(ascii: "-")), UInt64(UInt8(ascii: ":")))
        let (century, year) = UInt32(truncatingIfNeeded: time.year).quotientAndRemainder(dividingBy: 100)
        let day = Self.pair(century) | Self.pair(year) << 16 | dash << 32 | Self.pair(time.month) << 40 | dash << 56
        let minute = Self.pair(time.day) | UInt64(separator) << 16 | Self.pair(time.hour) << 24 | colon << 40 | Self.pair(time.minute) << 48
        append(littleEndian: day)
        append(littleEndian: minute)
        append(UInt8(ascii: ":"))
        append(littleEndian: UInt16(truncatingIfNeeded: Self.pair(time.second)))
    }

    /// The two digits of a number below 100, the first one in the lowest byte.
    private static func pair(_ number: some BinaryInteger) -> UInt64 {
        let number = UInt32(truncatingIfNeeded: number)
        let tens = number / 10
        return UInt64(0x3030 | tens | (number &- tens &* 10) &<< 8)
    }
}

/// A codec between numbers relative to an origin and RFC 3339 texts in UTC.
protocol EpochCodec: PairCodec {
    var form: EpochForm { get }
}

extension EpochCodec {
    var left: CodecSide { CodecSide(Shape(form.digits == form.unit ? .integer : .number), also: [.integer, .number]) }
    var right: CodecSide { CodecSide(.dateTime) }

    func rightward(_ content: RawSpan, _ kind: JSONKind, into output: inout ByteBuffer) throws(CodecRefusal) -> Bool {
        try form.appendText(content, kind, into: &output)
    }

    func leftward(_ content: RawSpan, _ kind: JSONKind, into output: inout ByteBuffer) throws(CodecRefusal) -> Bool {
        try form.appendNumber(content, kind, into: &output)
    }
}

/// `epoch-seconds{origin, digits}`: converts between `1767225600` and `"2026-01-01T00:00:00Z"`.
struct EpochSeconds: EpochCodec {
    static let name = "epoch-seconds"

    let form: EpochForm

    init(_ arguments: FileNode?, in using: FileNode) throws(FileProblem) {
        var (digits, start): (Int, Int64) = (0, 0)
        if let arguments {
            try arguments.map("epoch-seconds", allowing: ["origin", "digits"])
            digits = try arguments.member("digits")?.integer("digits", from: 0, through: 9) ?? 0
            if let origin = arguments.member("origin") {
                guard let time = Timestamp(try origin.text("origin")), time.microseconds % 1_000_000 == 0 else {
                    throw origin.problem(
                        "origin must be a whole second in RFC 3339", rule: Rule.opArgument, fix: "origin: \"2001-01-01T00:00:00Z\"")
                }
                start = time.microseconds / 1_000_000
            }
        }
        form = EpochForm(unit: 0, digits: digits, origin: start)
    }

    func words(_ direction: Direction) -> String {
        let origin = form.origin == 0 ? "1970" : "\(Timestamp(microseconds: form.origin * 1_000_000))"
        return "seconds since \(origin) <-> \(form.words)"
    }
}

/// `epoch-millis`: converts between `1767225600123` and `"2026-01-01T00:00:00.123Z"`.
struct EpochMillis: EpochCodec, PlainCodec {
    static let name = "epoch-millis"

    let form = EpochForm(unit: 3, digits: 3)

    func words(_ direction: Direction) -> String { "milliseconds since 1970 <-> \(form.words)" }
}
