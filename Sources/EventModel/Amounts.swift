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

/// A time span as people read it: `1.8 ms`, `0.3 s`, `2 min 5 s`, `3 h 12 min`.
package func duration(seconds: Double) -> String {
    switch seconds {
    case ..<0.1: return decimal(seconds * 1_000) + " ms"
    case ..<60: return decimal(seconds) + " s"
    case ..<3_600:
        let whole = Int(seconds.rounded())
        return "\(whole / 60) min \(whole % 60) s"
    default:
        let minutes = Int((seconds / 60).rounded())
        return "\(minutes / 60) h \(minutes % 60) min"
    }
}

private func scaled(_ amount: Double, units: [String]) -> String {
    var (amount, index) = (amount, 0)
    while amount >= 999.5 && index < units.count - 1 { (amount, index) = (amount / 1_000, index + 1) }
    let number = index == 0 || amount >= 99.5 ? grouped(Int(amount.rounded())) : decimal(amount)
    return number + " " + units[index]
}

/// One digit after the point.
private func decimal(_ number: Double) -> String {
    let tenths = Int((number * 10).rounded())
    return grouped(tenths / 10) + ".\(tenths % 10)"
}
