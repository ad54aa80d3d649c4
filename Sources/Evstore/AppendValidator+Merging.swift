internal import EventLog
internal import EventModel
internal import Projections
internal import SchemaEvolution

extension AppendValidator {
    private struct Group: Hashable {
        var stream: StreamName
        var born: SchemaVersion
        var target: SchemaVersion
    }

    /// Returns the errors of events in one append that steps merge with each other and that have no image, by the events' indices.
    func mergeFailures(of events: [StoredEvent]) throws(EvstoreError) -> [Int: EvstoreError] {
        guard merges else { return [:] }
        var groups: [Group: [Int]] = [:]
        for (index, event) in events.enumerated() where event.born.rawValue > 0 {
            for target in try merging(event.type, event.born) {
                groups[Group(stream: event.stream, born: event.born, target: target), default: []].append(index)
            }
        }
        var failures: [Int: EvstoreError] = [:]
        for (group, indices) in groups {
            let appended = indices.map { index in
                AppendedEvent(
                    type: events[index].type, payload: events[index].payload, metadata: events[index].metadata,
                    time: events[index].time, stream: group.stream.text)
            }
            do {
                try viewer.view(
                    appended: appended, born: group.born, at: group.target, failed: { failures[indices[$0]] = .noImage($1) }
                ) { _, _ in }
            } catch {
                // Above the live version a program that lacks a step can't decide: it goes on as before that version was live.
                if case .programNeeded = EvstoreError(converting: error), group.target > max(group.born, stamp.live) { continue }
                throw EvstoreError(converting: error)
            }
        }
        return failures
    }
}
