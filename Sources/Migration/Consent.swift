internal import EventModel
internal import SchemaEvolution

/// What a replay does only when it was asked to by name.
enum Consent {
    /// - Throws: `EvstoreError.consentNeeded` where a step on the way has no way down.
    static func requireForSteps(_ history: History, from: SchemaVersion, to: SchemaVersion, given: Bool) throws(EvstoreError) {
        let oneWay = history.oneWaySteps(from: from, to: to)
        guard !oneWay.isEmpty, !given else { return }
        let steps = oneWay.map { "\($0)" }.joined(separator: ", ")
        throw .consentNeeded(what: "there is no way back from \(steps); nothing was changed", how: "add --yes to accept that")
    }

    /// - Throws: `EvstoreError.consentNeeded` where an event did not come back as it was and no step says that it may not.
    static func requireForLoss(_ laws: LawTally, given: Bool) throws(EvstoreError) {
        guard let lost = laws.firstLoss, !given else { return }
        throw .consentNeeded(
            what:
                "the steps lose something that none of them declares, first of the event at position \(lost); nothing is live that was not",
            how: "see what is lost with: evstore plan; add --yes to accept it")
    }
}
