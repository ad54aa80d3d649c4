/// A count as people read it: `1,204,511`.
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

/// A size as people read it: `210 MB`, in steps of 1,000.
package func size(bytes: some BinaryInteger) -> String { scaled(Double(bytes), units: ["B", "kB", "MB", "GB", "TB"]) }

/// A rate as people read it: `1.1 M/s`.
package func rate(perSecond: Double) -> String {
    let text = scaled(perSecond, units: ["", "k", "M", "G"])
    return text.hasSuffix(" ") ? text.dropLast() + "/s" : text + "/s"
}

/// A time span as people read it: `1.8 ms`, `0.3 s`, `2 min 5 s`, `3 h 12 min`. What no clock has measured is as long as a number goes.
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

/// How far away a moment is, as people read it: `5 min 2 s ago`, `3 days ago`, `in 2 h 5 min`.
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
    /// Seconds from an earlier moment to this one; below zero where that one is later.
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

/// One digit after the point, of an amount that is not negative.
private func decimal(_ number: Double) -> String {
    let tenths = nearest(number * 10)
    return grouped(tenths / 10) + ".\(tenths % 10)"
}

/// The whole number next to an amount, which may come from a file: an end of the range for what lies beyond it, 0 for what is no number.
package func nearest(_ amount: Double) -> Int {
    if amount.isNaN { return 0 }
    return Int(exactly: amount.rounded()) ?? (amount < 0 ? .min : .max)
}
