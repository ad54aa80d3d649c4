internal import Bytes
internal import EventLog
public import EventModel
internal import JSONText
public import LogKeeping
internal import Platform
internal import Projections
internal import SchemaEvolution

extension EventStore {
    /// Makes the personal data of streams unreadable for good: at every version, members that a version file marks as `personal` have the
    /// plainest value of their shape from now on (null, or an empty text). The events stay, with all other members.
    ///
    /// Only a sealed store can forget: each stream has its own key for its personal members, and this call overwrites it. It also removes
    /// the read models, which are rebuilt when they are needed, and rewrites archives without the data. Earlier backups hold the key until
    /// they are pruned. Where one stream can't be forgotten, the streams before it in the list are forgotten, and the journal counts them;
    /// a repeated call reports them as forgotten before.
    ///
    /// Waits for a transaction, then for the rewriting of archives, whose cost grows with their size.
    /// - Throws: `EvstoreError`: keysRefused for a store without keys, migrationInProgress; storeDamaged and corruptBlock where damage
    ///   hides which keys belong to a stream.
    public func forget(_ streams: [StreamName]) async throws(EvstoreError) -> ForgetReport {
        let name = "forget \(streams.map(\.text).joined(separator: ", "))"
        return try await working(name) { (context) async throws(EvstoreError) in
            let evolution = try evolving.current()
            let version = try effective(nil)
            // A key belongs to the name under which the log has the stream.
            let stored = try log.reading { reader in
                try streams.map { try evolution.history.storedName(of: $0, at: version, reader) ?? $0 }
            }
            let names = Set(streams.flatMap { evolution.history.spellings(of: $0, at: version).map(\.name) } + streams + stored)
            let redaction = LineRedactor(names, try validator(AppendRules(version: version, takesOld: true)), options)
            try context.job.check()
            // Order: in a task and a job of its own. Nobody stops it once a key is overwritten, since read models and archives still show
            // the data.
            let work = Task { [whole = self.context(Job(name))] in
                try await StoreThreads.run {
                    try await Forget.run(whole, stored) { line throws(EvstoreError) in try redaction.redacted(line) }
                }
            }
            return try await awaiting(at: path) { try await work.value }
        }
    }
}

/// Removes the personal members, as the shapes mark them, from event lines of some streams.
private struct LineRedactor: Sendable {
    private let names: Set<StreamName>
    private let validator: AppendValidator
    private let options: Options

    init(_ names: Set<StreamName>, _ validator: AppendValidator, _ options: Options) {
        (self.names, self.validator, self.options) = (names, validator, options)
    }

    /// Returns the line without its personal members; nil where it has none, or belongs to another stream.
    func redacted(_ line: RawSpan) throws(EvstoreError) -> [UInt8]? {
        var parser = EventLineParser(LineForm(options: options, source: ""))
        let event = try parser.parse(line).event
        guard let born = event.version, born.rawValue > 0,
            names.contains(event.stream)
                || validator.history.spellings(of: event.stream, at: born).contains(where: { names.contains($0.name) })
        else { return nil }
        let payload = try validator.stored(event, at: .now).forgotten
        if payload.isEmpty { return nil }
        do {
            guard case .object(let members) = try JSONValue(parsing: line) else { return nil }
            let data = try JSONValue(parsing: payload.lent)
            return Array(JSONValue.object(members.map { $0.name == "data" ? .init(name: $0.name, value: data) : $0 }).text.utf8)
        } catch { throw EvstoreError(converting: error) }
    }
}
