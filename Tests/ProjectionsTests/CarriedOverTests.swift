import Bytes
import EventLog
import EventModel
import Hashing
import LMDB
import Testing

@testable import Projections
@testable import SchemaEvolution

/// For every type of a history a projection that keeps all of its events, as they are seen, in order, and one that keeps a member.
func keepingProjections(_ history: History) throws -> DefinitionSet {
    var since: [String: SchemaVersion] = [:]
    for file in history.versions { for type in file.types where since[type] == nil { since[type] = file.number } }
    return try DefinitionSet(
        stored: since.flatMap { type, since in
            func all(_ source: String) -> String { #"{"from":"\#(source)","keep":1000}"# }
            let fold = #"{"append":{"/events":\#(all("$payload")),"/at":\#(all("$position")),"/in":\#(all("$stream"))}}"#
            let member = history.shape(of: type, at: since)?.shape.properties.map(\.name).filter { $0 != "id" }.min() ?? "id"
            let lists = ["ids": "/id", "values": "/\(member)", "at": "$position"].sorted { $0.key < $1.key }
            let some = #"{"append":{\#(lists.map { #""/\#($0.key)":\#(all($0.value))"# }.joined(separator: ","))}}"#
            return [("all", fold), ("some", some)].map { name, fold in
                StoredDefinition(
                    name: "\(name)\(type)", since: since, json: Array(#"{"key":{"value":"all"},"on":{"\#(type)":\#(fold)}}"#.utf8))
            }
        })
}

extension TestStore {
    /// The read models of a version, of the types that there are, each built anew from the whole log.
    fileprivate func built(at version: SchemaVersion) throws -> [(definition: Definition, digest: Digest)] {
        let evolution = try evolving.current()
        let types = Set<Name>(of: evolution.history.types(at: version))
        let definitions = try evolution.definitions(at: version).filter { $0.consumes.isSubset(of: types) }
        let targets = try definitions.map { ($0, try generation($0)) }
        var build = BulkBuild(evolving, at: version, targets)
        (build.onError, build.jobs) = (.quarantine, 1)
        _ = try build.run(Job("build"))
        return try targets.map { ($0.0, try $0.1.header.digest) }
    }

    /// Appends events born at every version, as far as the versions up to theirs have images of them.
    fileprivate func fill(_ random: inout RandomVersions) async throws {
        let history = random.history
        let viewer = PathRunner(history)
        for _ in 0 ..< 2 {
            for file in history.versions {
                let stream = random.streams[file.number.number - 1]
                let events = (0 ..< 8).map { _ in random.event(at: file.number) }.filter { event in
                    (1 ..< file.number.number).allSatisfy { target in
                        do { return try viewer.sees(event, born: file.number, at: SchemaVersion(target), stream) } catch { return false }
                    }
                }
                if random.bool() {
                    try await append(events, born: file.number.number, stream: stream)
                } else {
                    for event in events { try await append([event], born: file.number.number, stream: stream) }
                }
            }
        }
    }
}

extension PathRunner {
    /// Whether an event has images, each of which fits.
    func sees(
        _ event: (type: String, payload: String), born: SchemaVersion, at target: SchemaVersion, _ stream: String
    ) throws -> Bool {
        let (payload, none) = (Array(event.payload.utf8), [UInt8]())
        try view(
            SourceEvent(payload: payload.lent, time: Timestamp(microseconds: 1_000_000), metadata: none.lent),
            of: TypeAtVersion(type: event.type, version: born), stream: stream, at: target, validating: true
        ) { _ in }
        return true
    }
}

@Test("versions that share a generation get the rows that a new build at each version gives", arguments: 0 ..< 60)
func keptIsBuiltAnew(round: UInt64) async throws {
    let seed = RandomVersions.seed(round)
    var random = try RandomVersions(seed: seed, versions: 4, withMembers: round >= 30)
    let store = try TestStore(random.history, try keepingProjections(random.history))
    try await store.fill(&random)
    var known: [Digest: (digest: Digest, version: SchemaVersion)] = [:]
    for file in random.history.versions {
        for (definition, digest) in try store.built(at: file.number) {
            guard let other = known[definition.fingerprint] else {
                known[definition.fingerprint] = (digest, file.number)
                continue
            }
            #expect(
                digest == other.digest, "seed \(seed): \(definition.name) is kept from \(other.version) to \(file.number), and differs")
        }
    }
    try await store.end()
}
