internal import EventLog
internal import EventModel
internal import Projections
internal import SchemaEvolution

/// An append under the names that the log holds its streams by.
struct SpelledAppend {
    var events: [StoredEvent]
    var conditions: [StreamCondition]
    /// Other spellings of streams that the append makes: none of them may have come to be in between.
    var guarded: Set<StreamName> = []
    /// The names as given, by those in the log.
    var given: [StreamName: StreamName] = [:]
    /// Those that were looked up already.
    private var found: [SpelledName: StreamName] = [:]

    init(events: [StoredEvent], conditions: [StreamCondition]) { (self.events, self.conditions) = (events, conditions) }

    /// What a failed condition says in the caller's names; nil where another program has just made a stream under another
    /// of its spellings, so that the append is to be spelled anew.
    func failure(_ error: EvstoreError) -> EvstoreError? {
        guard case .expectationFailed(let stream, let expected, let actual) = error else { return error }
        if guarded.contains(stream) { return nil }
        return .expectationFailed(stream: given[stream] ?? stream, expected: expected, actual: actual)
    }
}

extension EventStore {
    /// Finds the streams of an append. One that exists goes on under the name it has; one that does not is made under the
    /// spelling of the event's birth version.
    func spelled(
        _ events: [StoredEvent], _ conditions: [StreamCondition] = [], at version: SchemaVersion, _ history: History
    ) throws(EvstoreError) -> SpelledAppend {
        var result = SpelledAppend(events: events, conditions: conditions)
        guard history.rekeysStreams else { return result }
        try log.reading { reader in
            for index in events.indices {
                result.events[index].stream = try result.find(
                    events[index].stream, at: events[index].born, isMade: true, history, reader)
            }
            for index in conditions.indices {
                result.conditions[index].stream = try result.find(conditions[index].stream, at: version, isMade: false, history, reader)
            }
        }
        return result
    }
}

extension SpelledAppend {
    fileprivate struct SpelledName: Hashable {
        var name: StreamName
        var version: SchemaVersion
    }

    fileprivate mutating func find(
        _ name: StreamName, at version: SchemaVersion, isMade: Bool, _ history: History, _ reader: borrowing LogReader
    ) throws -> StreamName {
        if let known = found[SpelledName(name: name, version: version)] { return known }
        let known = try history.storedName(of: name, at: version, reader)
        let stored = known ?? name
        given[stored] = name
        found[SpelledName(name: name, version: version)] = stored
        guard isMade, known == nil else { return stored }
        guard try reader.head(of: name) == nil else {
            throw EvstoreError.noImage(
                ImageFailure(
                    type: "the stream", born: version, target: version, step: version, op: "rekey", pointer: "$stream",
                    expected: "a name under which no other stream lies in the log", found: quoted(name.text)))
        }
        for spelling in history.spellings(of: name, at: version) {
            for other in spelling.versions { found[SpelledName(name: spelling.name, version: other)] = stored }
            guard spelling.name != name, try reader.head(of: spelling.name) == nil else { continue }
            guarded.insert(spelling.name)
            conditions.append(StreamCondition(spelling.name, .noStream))
        }
        return stored
    }
}
