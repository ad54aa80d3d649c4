internal import Bytes
internal import EventLog
public import EventModel
internal import JSONText
public import LogKeeping
internal import Projections
internal import SchemaEvolution

extension EventStore {
    /// Makes the personal data of streams unreadable, for good: members that a version file calls `personal` have their plainest
    /// value from now on, at every version. The events stay, with everything else that they say.
    ///
    /// Only a sealed store can forget: each stream has a key of its own for its personal members, and that key is overwritten. Then read
    /// models are built anew, and archives are written anew without the data. Backups that were made before still hold the key, until they
    /// are pruned. Where one stream can't be forgotten, those before it in the list are, and the journal counts them; call it again, and it
    /// reports them as forgotten before.
    ///
    /// Awaits a transaction, then the writing of read models and archives, for as long as they are large.
    /// - Throws: `EvstoreError`: keysRefused for a store without keys, migrationInProgress; storeDamaged and corruptBlock where damage
    ///   hides which keys are a stream's.
    public func forget(_ streams: [StreamName]) async throws(EvstoreError) -> ForgetReport {
        try await working { (_) async throws(EvstoreError) in
            let evolution = try evolving.current()
            let version = try effective(nil)
            // The keys are of the names that the log holds the streams by.
            let stored = try converting(at: path) {
                try log.read { reader in
                    try streams.map { try evolution.history.storedName(of: $0, at: version, reader) ?? $0 }
                }
            }
            let names = Set(streams.flatMap { evolution.history.spellings(of: $0, at: version).map(\.name) } + streams + stored)
            let rest = ForgottenLine(names, try validator(AppendRules(version: version, takesOld: true)), options)
            return try await Forget.run(
                site("forget \(streams.map(\.text).joined(separator: ", "))"), stored
            ) { line throws(EvstoreError) in try rest.rest(of: line) }
        }
    }
}

/// Takes what is personal out of event lines of some streams, as their shapes tell it.
private struct ForgottenLine: Sendable {
    private let names: Set<StreamName>
    private let validator: AppendValidator
    private let options: Options

    init(_ names: Set<StreamName>, _ validator: AppendValidator, _ options: Options) {
        (self.names, self.validator, self.options) = (names, validator, options)
    }

    /// Nil where nothing of a line goes.
    func rest(of line: RawSpan) throws(EvstoreError) -> [UInt8]? {
        var parser = EventLineParser(options: options, takesOldData: false)
        let event = try parser.parse(line)
        guard let born = event.version, born.rawValue > 0,
            names.contains(event.stream)
                || validator.history.spellings(of: event.stream, at: born).contains(where: { names.contains($0.name) })
        else { return nil }
        let rest = try validator.stored(event, at: .now).forgotten
        if rest.isEmpty { return nil }
        do {
            guard case .object(let members) = try JSONValue(parsing: line, limits: parser.limits) else { return nil }
            let data = try JSONValue(parsing: rest.lent, limits: parser.limits)
            return Array(JSONValue.object(members.map { $0.name == "data" ? .init(name: $0.name, value: data) : $0 }).text.utf8)
        } catch { throw EvstoreError(converting: error) }
    }
}
