internal import Evstore

extension AdoptionReport {
    var object: OutputValue {
        [
            "events": .count(events), "kept": .count(kept), "defaulted": .count(defaulted),
            "notKept": .object(notKept.sorted { $0.key < $1.key }.map { (name: $0.key, value: .count($0.value)) }),
            "quarantined": .count(quarantined),
        ]
    }

    /// `4 events of version 0: kept 12 members, defaulted 3, not kept 5: /favourite (4), /tmp (1)`
    var words: String {
        var words = "\(counted(events, "event")) of version 0: kept \(counted(kept, "member")), defaulted \(grouped(defaulted))"
        words += ", not kept \(grouped(notKept.values.reduce(0, +)))"
        if !notKept.isEmpty {
            words += ": " + notKept.sorted { $0.key < $1.key }.map { "\($0.key) (\(grouped($0.value)))" }.joined(separator: ", ")
        }
        return quarantined > 0 ? words + "; \(grouped(quarantined)) that no case takes, in quarantine" : words
    }
}
