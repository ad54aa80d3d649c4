/// A count with thousands separators: `1,204,511`.
package func grouped(_ number: some BinaryInteger) -> String {
    let digits = String(number.magnitude)
    var result = ""
    for (index, digit) in digits.enumerated() {
        if index > 0 && (digits.count - index) % 3 == 0 { result += "," }
        result.append(digit)
    }
    return (number < 0 ? "-" : "") + result
}

/// A count with its noun: `1 event`, `2,000 events`.
package func counted(_ number: some BinaryInteger, _ noun: String) -> String {
    "\(grouped(number)) \(noun)\(number == 1 ? "" : "s")"
}

/// A human-readable size in steps of 1,000: `210 MB`.
package func size(bytes: some BinaryInteger) -> String { scaled(Double(bytes), units: ["B", "kB", "MB", "GB", "TB"]) }

/// A human-readable rate: `1.1 M/s`.
package func rate(perSecond: Double) -> String {
    let text = scaled(perSecond, units: ["", "k", "M", "G"])
    return text.hasSuffix(" ") ? text.dropLast() + "/s" : text + "/s"
}

/// A human-readable time span: `1.8 ms`, `0.3 s`, `2 min 5 s`, `3 h 12 min`. Values beyond the range of `Int` are clamped.
package func duration(seconds: Double) -> String {
    if seconds < 0 { return "-" + duration(seconds: -seconds) }
    switch seconds {
    case ..<0.1: return decimal(seconds * 1_000) + " ms"
    case ..<60: return decimal(seconds) + " s"
    case ..<3_600:
        let whole = nearest(seconds)
        return "\(whole / 60) min \(whole % 60) s"
    default:
        let minutes = nearest(seconds / 60)
        return "\(minutes / 60) h \(minutes % 60) min"
    }
}

extension Duration {
    /// The duration as people read it: see `duration(seconds:)`.
    package var inWords: String { self < .zero ? "-" + (.zero - self).inWords : duration(seconds: inSeconds) }
}

/// A human-readable distance between two moments: `5 min 2 s ago`, `3 days ago`, `in 2 h 5 min`.
package func age(since time: Timestamp, now: Timestamp = .now) -> String {
    let seconds = now.seconds(since: time)
    let span = abs(seconds)
    if span < 1 { return "just now" }
    let words =
        span < 59.5
        ? "\(nearest(span)) s"
        : span < 2 * 86_400 ? duration(seconds: span) : counted(nearest((span / 86_400).rounded(.down)), "day")
    return seconds < 0 ? "in " + words : words + " ago"
}

extension Timestamp {
    /// The seconds from an earlier moment to this one; negative if `earlier` is in fact later.
    package func seconds(since earlier: Timestamp) -> Double {
        let (difference, isTooLong) = microseconds.subtractingReportingOverflow(earlier.microseconds)
        return (isTooLong ? Double(microseconds) - Double(earlier.microseconds) : Double(difference)) / 1e6
    }
}

private func scaled(_ amount: Double, units: [String]) -> String {
    if amount < 0 { return "-" + scaled(-amount, units: units) }
    var (amount, index) = (amount, 0)
    while amount >= 999.5 && index < units.count - 1 { (amount, index) = (amount / 1_000, index + 1) }
    let number = index == 0 || amount >= 99.5 ? grouped(nearest(amount)) : decimal(amount)
    return number + " " + units[index]
}

/// A number that is not negative, with one digit after the point.
private func decimal(_ number: Double) -> String {
    let tenths = nearest(number * 10)
    return grouped(tenths / 10) + ".\(tenths % 10)"
}

/// The nearest integer. The amount may come from a file: values beyond the range of `Int` are clamped, and NaN becomes 0.
package func nearest(_ amount: Double) -> Int {
    if amount.isNaN { return 0 }
    return Int(exactly: amount.rounded()) ?? (amount < 0 ? .min : .max)
}
