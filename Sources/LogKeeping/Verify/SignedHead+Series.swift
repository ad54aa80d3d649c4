internal import Bytes
public import EventModel
internal import LMDB
internal import Platform

extension SignedHead {
    package static let seriesBytesMax = 64 << 20

    /// Reads heads, a line each, in the order in which they were signed; a single one may take several lines.
    /// - Throws: `EvstoreError.signatureInvalid`, which names the line.
    public static func series(parsing text: [UInt8]) throws(EvstoreError) -> [SignedHead] {
        let space = Array(" \t\r".utf8)
        let lines = text.split(separator: UInt8(ascii: "\n"), omittingEmptySubsequences: false).enumerated()
            .map { (number: $0.offset + 1, text: Array($0.element)) }.filter { !$0.text.allSatisfy(space.contains) }
        let endsInLine = lines.first?.text.last { !space.contains($0) } == UInt8(ascii: "}")
        guard lines.count > 1, endsInLine else { return [try SignedHead(parsing: text)] }
        var heads: [SignedHead] = []
        for line in lines {
            do { heads.append(try SignedHead(parsing: line.text)) } catch {
                guard case .signatureInvalid(let reason) = error else { throw error }
                throw .signatureInvalid(reason: "line \(line.number): \(reason)")
            }
        }
        return heads
    }

    /// Checks a series: each head except the first names the head before it, so that none can be left out, exchanged or inserted unnoticed.
    /// Missing heads at the end can't be noticed here: keep the newest head's position elsewhere.
    static func findings(ofSeries heads: [SignedHead]) -> [Finding] {
        var findings: [Finding] = []
        for (index, (before, head)) in zip(heads, heads.dropFirst()).enumerated()
        where Guard.headSeries.isOn && head.previous != before.digest {
            let place = "head \(index + 2) of the series, of position \(head.position) and signed \(head.time),"
            let what = head.previous == nil ? "names none before it" : "does not name the one before it here"
            findings.append(
                Finding(
                    id: "STORE111", position: head.position, message: "\(place) \(what): one was left out, exchanged or put in",
                    fix: head.previous.map { "look for the head that it names: the SHA-256 of that line is \($0)" }
                        ?? "a series is one file: put what was begun anew into another"))
        }
        if heads.count > 1, let previous = heads.first?.previous {
            findings.append(
                Finding(
                    id: "STORE113", severity: .note,
                    message: "the series does not begin here: its first head names one before it, whose line's SHA-256 is \(previous)"))
        }
        return findings
    }
}
