internal import Bytes
internal import EventLog
internal import EventModel
internal import SchemaEvolution

/// The first half of folding, for several definitions of one version at once: takes events of the log,
/// views each once and writes down what it does. One for each thread.
final class EventPreparer {
    /// What is known of the events of one type and birth version.
    private struct Route {
        /// Which definitions an image may concern; none where the events can be passed over.
        var interested: [Int]
        var path: Path
    }

    private struct RouteKey: Hashable {
        var type: TypeID
        var born: SchemaVersion
    }

    let version: SchemaVersion
    /// One for each definition, in order.
    private(set) var outputs: [PreparedOperations]
    private let log: EventLog
    private let viewer: Viewer
    private let folds: [any Fold]
    private let consumed: [Set<String>]
    private let readsStream, readsID: Bool
    private var routes: [RouteKey: Route] = [:]
    private var names: [UInt64: StreamName] = [:]
    private var workspace = FoldWorkspace()
    /// Events of interest that were prepared.
    private(set) var folded: UInt64 = 0

    init(_ log: EventLog, _ history: History, _ definitions: [Definition], at version: SchemaVersion) throws(EvstoreError) {
        (self.log, self.version) = (log, version)
        viewer = Viewer(history)
        var folds: [any Fold] = []
        for definition in definitions { folds.append(try definition.requireFold()) }
        self.folds = folds
        consumed = definitions.map(\.consumes)
        readsStream = folds.contains { $0.readsStream }
        readsID = folds.contains { $0.readsID }
        outputs = definitions.map { _ in PreparedOperations(keyBytesMax: log.options.projectionKeyBytesMax) }
    }

    /// Whether events of a type, as stored, can concern any of the definitions.
    func isOfInterest(_ type: String, born: SchemaVersion) throws -> Bool { try !route(type, born).interested.isEmpty }

    func removeAll() {
        for output in outputs { output.removeAll() }
        folded = 0
    }

    /// Bytes of operations that are waiting to be applied.
    var bytes: Int { outputs.reduce(0) { $0 + $1.operations.bytes.count } }

    /// Writes down what an event does. What it can't do becomes a rejection of the definitions that it concerns.
    func prepare(_ record: borrowing RecordView, epoch: Epoch) throws {
        let key = RouteKey(type: record.type, born: record.born)
        if routes[key] == nil { routes[key] = try route(record.typeName, record.born) }
        guard let route = routes[key], !route.interested.isEmpty else { return }
        folded += 1
        let position = record.position
        for index in route.interested { outputs[index].beginEvent() }
        var facts = EventFacts(
            epoch: epoch, position: position, revision: record.revision, type: "", stream: "", time: record.time,
            id: readsID ? record.id : nil, born: record.born, version: version, part: 0)
        let metadata = record.metadata
        do {
            var stream = ""
            if readsStream || route.path.readsStream { stream = try name(of: record).text }
            facts.stream = stream
            try viewer.run(route.path, payload: record.payload, time: record.time, stream: stream, metadata: metadata) { image in
                facts.type = image.type
                facts.part = image.part
                for index in route.interested {
                    guard let rule = folds[index].rule(of: image.type) else { continue }
                    outputs[index].prepare(facts, rule: rule, payload: image.payload, metadata: metadata, folds[index], &workspace)
                }
            }
        } catch EvstoreError.noImage(var failure) {
            failure.position = position
            for index in route.interested { outputs[index].reject(position, .image(failure)) }
        }
    }

    private func route(_ type: String, _ born: SchemaVersion) throws -> Route {
        let path = try viewer.path(type: type, born: born, to: version)
        let images = path.types
        return Route(interested: consumed.indices.filter { !consumed[$0].isDisjoint(with: images) }, path: path)
    }

    private func name(of record: borrowing RecordView) throws -> StreamName {
        let id = record.streamID
        if let name = names[id] { return name }
        // Bounded: a log may have any number of streams.
        if names.count >= 1 << 16 { names.removeAll(keepingCapacity: true) }
        let name = try record.streamName ?? log.read { reader in try reader.name(ofStream: id) }
        names[id] = name
        return name
    }
}
