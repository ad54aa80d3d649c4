internal import EventLog
internal import EventModel
internal import JSONText
internal import LogKeeping
internal import Migration
internal import Projections
internal import SchemaEvolution

/// A stream whose personal data is to be forgotten, with its names at the versions that can name it.
struct PersonStream {
    /// The name under which the log has it; nil where it has no such stream now.
    var stored: StreamName?
    var given: StreamName
    var aliases: [StreamAlias]

    var name: StreamName { stored ?? given }

    func isCalled(_ name: StreamName, at version: SchemaVersion) -> Bool {
        aliases.contains { $0.name == name && $0.versions.contains(version) }
    }
}

/// Finds the streams that a caller names, and the names that their keys have.
///
/// A key belongs to a stream's name in the log, which is its name at the birth version of its first event. A stream that a cut has removed
/// may have had any of its names there, and another stream may have had the same one, before it or after it. The archives tell: the line
/// of a stream's first event has the stream's name in the log.
struct PersonStreams {
    private let history: History
    private let version: SchemaVersion
    private let context: MigrationContext
    private(set) var streams: [PersonStream] = []
    private var begun: Set<NameAtVersion>?
    /// Those of the streams' names for which there is a key.
    private var keyed: Set<StreamName> = []

    /// - Parameter version: the version at which the streams are named.
    /// - Throws: `EvstoreError.usage` where a name, or a key, may belong to two streams.
    init(_ given: [StreamName], at version: SchemaVersion, _ history: History, _ context: MigrationContext) throws(EvstoreError) {
        (self.history, self.version, self.context) = (history, version, context)
        for stream in given { streams.append(try resolved(stream)) }
        if !history.rekeysStreams { return }
        let names = Set(streams.flatMap(\.aliases).map(\.name))
        keyed = try converting { try context.log.keyed(among: names) }
    }

    private mutating func resolved(_ stream: StreamName) throws(EvstoreError) -> PersonStream {
        let aliases = history.spellings(of: stream, at: version)
        let person = PersonStream(given: stream, aliases: aliases)
        let stored = try context.log.reading { reader in try history.storedName(of: stream, at: version, reader) }
        if let stored { return PersonStream(stored: stored, given: stream, aliases: aliases) }
        guard let born = try context.log.reading({ try $0.birth(ofStream: stream) }) else { return person }
        // As readers do: a name that no stream has at the version is the name in the log.
        if let archived = try archived().first(where: { person.isCalled($0.name, at: $0.version) }) {
            throw Self.ambiguous(stream, "the log has \(quoted(stream.text)), begun at \(born)", Self.words(archived))
        }
        return PersonStream(stored: stream, given: stream, aliases: history.spellings(of: stream, at: born))
    }

    /// The names under which there may be keys for a stream's data, without those that belong to another stream.
    mutating func keyNames(of person: PersonStream) throws(EvstoreError) -> [StreamName] {
        guard history.rekeysStreams else { return [person.stored ?? person.given] }
        var names: [StreamName] = []
        for alias in person.aliases where alias.name != person.stored {
            let hasKey = keyed.contains(alias.name)
            guard hasKey || person.stored == nil else { continue }
            let holder = try context.log.reading { try $0.birth(ofStream: alias.name) }.map { NameAtVersion(name: alias.name, version: $0) }
            let known = try archived().filter { $0.name == alias.name }
            let own = known.first { alias.versions.contains($0.version) }
            let other = holder ?? known.filter { !alias.versions.contains($0.version) }.min { $0.version < $1.version }
            if let other, !streams.contains(where: { $0.isCalled(other.name, at: other.version) }) {
                guard let own else { continue }
                if hasKey {
                    let there = holder.map { "the log has another one, begun at \($0.version)" } ?? Self.words(other)
                    throw Self.ambiguous(alias.name, Self.words(own), there)
                }
            }
            names.append(alias.name)
        }
        return names + (person.stored.map { [$0] } ?? [])
    }

    /// The streams that begin in an archive, or in the events that a salvage could not confirm.
    private mutating func archived() throws(EvstoreError) -> Set<NameAtVersion> {
        if let begun { return begun }
        var found: Set<NameAtVersion> = []
        try Forget.archived(context) { line throws(EvstoreError) in
            do {
                let line = try JSONValue(parsing: line)
                guard case .string(let name)? = line["stream"], case .number("0")? = line["revision"],
                    case .number(let text)? = line["version"], let born = UInt32(text)
                else { return }
                found.insert(NameAtVersion(name: try StreamName(name), version: SchemaVersion(born)))
            } catch is JSONError {
                // What is no line names no stream; the rewriting of the files tells of it.
            } catch { throw EvstoreError(converting: error) }
        }
        begun = found
        return found
    }

    private static func words(_ begun: NameAtVersion) -> String { "an archive has \(quoted(begun.name.text)), begun at \(begun.version)" }

    private static func ambiguous(_ name: StreamName, _ one: String, _ other: String) -> EvstoreError {
        .usage(
            "\(quoted(name.text)) may be two streams: \(one), and \(other). Nothing was forgotten",
            fix: "name both streams in one call, each by its name at the live version")
    }
}
