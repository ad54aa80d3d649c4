internal import Evstore

extension AdoptionReport: PrintableObject {
    var members: Members {
        [
            "events": events, "kept": kept, "defaulted": defaulted, "notKept": notKept, "quarantined": quarantined, "unnamed": unnamed,
            "unnamedLines": unnamedLines.map {
                ["line": $0.line, "type": $0.type, "pointer": $0.pointer, "reason": $0.reason] as Members
            },
        ]
    }

    /// `4 events of version 0: kept 12 members, defaulted 3, not kept 5: /favourite (4), /tmp (1)`
    var words: String {
        var words = "\(counted(events, "event")) of version 0: kept \(counted(kept, "member")), defaulted \(grouped(defaulted))"
        words += ", not kept \(grouped(notKept.values.reduce(0, +)))"
        if !notKept.isEmpty {
            words += ": " + notKept.sorted { $0.key < $1.key }.map { "\($0.key) (\(grouped($0.value)))" }.joined(separator: ", ")
        }
        if unnamed > 0 { words += "; \(grouped(unnamed)) whose stream stays $unknown\(namelessWords)" }
        return quarantined > 0 ? words + "; \(grouped(quarantined)) that no case takes, in quarantine" : words
    }

    /// ` (line 2: adopted as Starred, and /who should be a value that names the stream, found nothing)`
    private var namelessWords: String {
        if unnamedLines.isEmpty { return "" }
        let first = unnamedLines.prefix(5).map { "line \(grouped($0.line)): adopted as \($0.type), and \($0.pointer) \($0.reason)" }
        return " (\(first.joined(separator: "; "))\(unnamedLines.count > first.count ? "; …" : ""))"
    }
}
