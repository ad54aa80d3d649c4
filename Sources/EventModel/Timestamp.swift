package import Bytes
internal import Platform

/// A moment: microseconds since 1970-01-01T00:00:00Z, without leap seconds (POSIX time).
public struct Timestamp: Hashable, Comparable, Sendable, CustomStringConvertible {
    public let microseconds: Int64

    public init(microseconds: Int64) { self.microseconds = microseconds }

    /// The current time of the system's clock.
    public static var now: Timestamp { Timestamp(microseconds: WallClock.microseconds) }

    public static func < (a: Timestamp, b: Timestamp) -> Bool { a.microseconds < b.microseconds }

    /// RFC 3339 text in UTC, with no, 3 or 6 fraction digits as needed. Moments less than a day outside the years 0 to 9999 are written
    /// with an offset that moves them into that range.
    public var description: String {
        var text = ByteBuffer(capacity: 32)
        append(to: &text)
        return String(utf8: text.bytes) ?? ""
    }

    /// Appends the description as a JSON string.
    package func appendQuoted(to output: inout ByteBuffer) {
        output.append(UInt8(ascii: "\""))
        append(to: &output)
        output.append(UInt8(ascii: "\""))
    }

    /// Appends the description.
    package func append(to output: inout ByteBuffer) {
        let (seconds, fraction) = microseconds.floored(by: 1_000_000)
        let offset = seconds < Self.firstSecond ? Self.offsetSeconds : seconds > Self.lastSecond ? -Self.offsetSeconds : 0
        CivilTime(secondsSince1970: seconds &+ offset).append(to: &output)
        if fraction > 0 {
            let (milliseconds, rest) = fraction.quotientAndRemainder(dividingBy: 1_000)
            output.append(UInt8(ascii: "."))
            output.append(digits: UInt64(rest == 0 ? milliseconds : fraction), width: rest == 0 ? 3 : 6)
        }
        output.append(offset == 0 ? "Z" : offset > 0 ? "+23:59" : "-23:59")
    }

    /// The first and last second of the years that RFC 3339 can write, in UTC.
    private static let (firstSecond, lastSecond): (Int64, Int64) = (-62_167_219_200, 253_402_300_799)
    /// The largest offset that RFC 3339 allows.
    private static let offsetSeconds: Int64 = 86_340

    /// Whether RFC 3339 can express the moment, so that an export can be imported again.
    package var isWritable: Bool {
        let seconds = microseconds.floored(by: 1_000_000).quotient
        return (Self.firstSecond - Self.offsetSeconds ... Self.lastSecond + Self.offsetSeconds).contains(seconds)
    }

    /// Parses an RFC 3339 text (section 5.6, with `T` and `Z` or an offset); a fraction is truncated to microseconds. Nil for other text.
    public init?(_ text: String) { self.init(utf8: Array(text.utf8).lent) }

    package init?(utf8 text: RawSpan) {
        guard let parsed = DateTime(text) else { return nil }
        microseconds = parsed.microseconds
    }
}

/// A date and time of day without a zone, proleptic Gregorian, years 0 to 9999. Days are counted by Howard Hinnant's `days_from_civil`.
package struct CivilTime: Equatable, CustomStringConvertible {
    package var year, month, day, hour, minute, second: Int

    package init(year: Int, month: Int, day: Int, hour: Int, minute: Int, second: Int) {
        (self.year, self.month, self.day) = (year, month, day)
        (self.hour, self.minute, self.second) = (hour, minute, second)
    }

    package init(secondsSince1970 seconds: Int64) {
        let (days, secondOfDay) = seconds.floored(by: 86_400)
        // Neri and Schneider, "Euclidean affine functions and their application to calendar algorithms" (2022): years begin
        // in March, and days are counted within an era of 400 years, so that no number is below zero or too large.
        let (era, dayOfEra) = (days &+ 719_468).floored(by: 146_097)
        let shifted = UInt32(truncatingIfNeeded: dayOfEra) &* 4 &+ 3
        let (century, dayOfCentury) = shifted.quotientAndRemainder(dividingBy: 146_097)
        let scaled = UInt64(dayOfCentury | 3) &* 2_939_745
        let yearOfCentury = UInt32(truncatingIfNeeded: scaled &>> 32)
        let dayOfYear = UInt32(truncatingIfNeeded: scaled) / 2_939_745 / 4
        let monthAndDay = dayOfYear &* 2_141 &+ 197_913
        let isNextYear = dayOfYear >= 306
        day = Int((monthAndDay & 0xFFFF) / 2_141) &+ 1
        month = Int(monthAndDay &>> 16) &- (isNextYear ? 12 : 0)
        year = Int(era) &* 400 &+ Int(century &* 100 &+ yearOfCentury) &+ (isNextYear ? 1 : 0)
        let rest = UInt32(truncatingIfNeeded: secondOfDay)
        (hour, minute, second) = (Int(rest / 3_600), Int(rest / 60 % 60), Int(rest % 60))
    }

    package var secondsSince1970: Int64 {
        let shiftedYear = Int64(month <= 2 ? year - 1 : year)
        let (era, yearOfEra) = shiftedYear.floored(by: 400)
        let monthFromMarch = Int64(month > 2 ? month - 3 : month + 9)
        let dayOfYear = (153 * monthFromMarch + 2) / 5 + Int64(day) - 1
        let dayOfEra = yearOfEra * 365 + yearOfEra / 4 - yearOfEra / 100 + dayOfYear
        let days = era * 146_097 + dayOfEra - 719_468
        return days * 86_400 + Int64(hour * 3_600 + minute * 60 + second)
    }

    /// Whether the calendar has this day and the clock this time (leap seconds are rejected).
    package var exists: Bool {
        let lengths = [31, isLeap ? 29 : 28, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31]
        guard (0 ... 9_999).contains(year), (1 ... 12).contains(month) else { return false }
        return (1 ... lengths[month - 1]).contains(day) && (0 ... 23).contains(hour)
            && (0 ... 59).contains(minute) && (0 ... 59).contains(second)
    }

    private var isLeap: Bool { year % 4 == 0 && (year % 100 != 0 || year % 400 == 0) }

    /// `2026-01-01T00:00:00`.
    package var description: String {
        var text = ByteBuffer(capacity: 32)
        append(to: &text)
        return String(utf8: text.bytes) ?? ""
    }

    /// Appends the description.
    package func append(to output: inout ByteBuffer) {
        func add(_ mark: Unicode.Scalar, _ number: Int) {
            output.append(UInt8(ascii: mark))
            output.append(digits: UInt64(number), width: 2)
        }
        if year < 0 { output.append(UInt8(ascii: "-")) }
        output.append(digits: UInt64(year.magnitude), width: 4)
        add("-", month)
        add("-", day)
        add("T", hour)
        add(":", minute)
        add(":", second)
    }
}

/// An RFC 3339 date-time as written: civil time, fraction and offset.
package struct DateTime: Equatable {
    package var civil: CivilTime
    /// The digits after the point, as written; empty if there is no fraction.
    package var fraction: [UInt8]
    package var offsetMinutes: Int
    package var isUTC: Bool

    /// Parses `YYYY-MM-DDTHH:MM:SS[.fraction](Z|+HH:MM|-HH:MM)`; upper-case `T` and `Z` only.
    package init?(_ text: RawSpan) {
        guard text.byteCount >= 20, let civil = CivilTime(text.slice(0, 19), separator: UInt8(ascii: "T")) else {
            return nil
        }
        self.civil = civil
        var index = 19
        fraction = []
        if text.byte(at: index) == UInt8(ascii: ".") {
            index += 1
            while index < text.byteCount, (48 ... 57).contains(text.byte(at: index)) {
                fraction.append(text.byte(at: index))
                index += 1
            }
            if fraction.isEmpty { return nil }
        }
        guard index < text.byteCount else { return nil }
        switch text.byte(at: index) {
        case UInt8(ascii: "Z"):
            guard index + 1 == text.byteCount else { return nil }
            (offsetMinutes, isUTC) = (0, true)
        case let sign where sign == UInt8(ascii: "+") || sign == UInt8(ascii: "-"):
            guard index + 6 == text.byteCount, text.byte(at: index + 3) == UInt8(ascii: ":"),
                let hours = text.number(at: index + 1, digits: 2), let minutes = text.number(at: index + 4, digits: 2),
                hours < 24, minutes < 60
            else { return nil }
            offsetMinutes = (hours * 60 + minutes) * (sign == UInt8(ascii: "-") ? -1 : 1)
            isUTC = false
        default: return nil
        }
    }

    /// The instant, truncated to microseconds.
    package var microseconds: Int64 {
        var micros: Int64 = 0
        for index in 0 ..< 6 { micros = micros * 10 + (index < fraction.count ? Int64(fraction[index] - 48) : 0) }
        return (civil.secondsSince1970 - Int64(offsetMinutes) * 60) * 1_000_000 + micros
    }
}

extension CivilTime {
    /// Parses 19 bytes, `YYYY-MM-DD?HH:MM:SS`, with the given separator between day and time.
    package init?(_ text: RawSpan, separator: UInt8) {
        guard text.byteCount == 19, text.byte(at: 4) == UInt8(ascii: "-"), text.byte(at: 7) == UInt8(ascii: "-"),
            text.byte(at: 10) == separator, text.byte(at: 13) == UInt8(ascii: ":"),
            text.byte(at: 16) == UInt8(ascii: ":"), let year = text.number(at: 0, digits: 4),
            let month = text.number(at: 5, digits: 2), let day = text.number(at: 8, digits: 2),
            let hour = text.number(at: 11, digits: 2), let minute = text.number(at: 14, digits: 2),
            let second = text.number(at: 17, digits: 2)
        else { return nil }
        self.init(year: year, month: month, day: day, hour: hour, minute: minute, second: second)
        if !exists { return nil }
    }
}

extension RawSpan {
    /// The number that exactly `digits` decimal digits from `start` spell; nil if they are not all digits.
    package func number(at start: Int, digits: Int) -> Int? {
        guard start >= 0, start + digits <= byteCount else { return nil }
        var value = 0
        for index in start ..< start + digits {
            let digit = byte(at: index)
            guard (48 ... 57).contains(digit) else { return nil }
            value = value * 10 + Int(digit - 48)
        }
        return value
    }
}

extension Int64 {
    /// Quotient and remainder of a division that rounds down; the remainder is never negative.
    package func floored(by divisor: Int64) -> (quotient: Int64, remainder: Int64) {
        let (quotient, remainder) = quotientAndRemainder(dividingBy: divisor)
        return remainder < 0 ? (quotient - 1, remainder + divisor) : (quotient, remainder)
    }
}

/// A number that is not negative, padded with leading zeros to `width` digits.
package func padded(_ number: Int64, _ width: Int) -> String {
    let text = String(number)
    return String(repeating: "0", count: Swift.max(0, width - text.utf8.count)) + text
}

extension Epoch {
    /// An epoch for a store that continues beside the one it was made from, and whose epochs must differ from those of the original: the
    /// clock's seconds. The value is clamped so that later epochs remain available however wrong the clock is.
    package static var fromClock: Epoch { Epoch(UInt32(clamping: min(Timestamp.now.microseconds / 1_000_000, 0xf000_0000))) }
}
