internal import Bytes
internal import EventLog
internal import EventModel
internal import SchemaEvolution

/// The first half of folding, for several definitions of one version at once: takes events of the log,
/// views each once and writes down what it does. One for each thread.
final class EventPreparer {
    /// What is known of the events of one type and birth version.
    private final class Route {
        let key: RouteKey
        /// Which definitions an image may concern; none where the events can be passed over.
        let interested: [Int]
        let path: Path
        /// The type of the last image, and the rule of each interested definition for it; -1 where it has none.
        var type: String?
        var rules: [Int] = []

        init(_ key: RouteKey, _ interested: [Int], _ path: Path) { (self.key, self.interested, self.path) = (key, interested, path) }
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
    /// The route of the last event, which mostly is the next one's too.
    private var route: Route?
    private let names: StreamNames
    private let merged: MergedAppends
    private var workspace = FoldWorkspace()
    /// Events of interest that were prepared.
    private(set) var folded: UInt64 = 0

    init(_ log: EventLog, _ history: History, _ definitions: [Definition], at version: SchemaVersion) throws(EvstoreError) {
        (self.log, self.version) = (log, version)
        viewer = Viewer(history)
        names = StreamNames(log, history)
        merged = MergedAppends(log, viewer, names, at: version)
        var folds: [any Fold] = []
        for definition in definitions { folds.append(try definition.requireFold()) }
        self.folds = folds
        consumed = definitions.map(\.consumes)
        readsStream = folds.contains { $0.readsStream }
        readsID = folds.contains { $0.readsID }
        outputs = definitions.map { _ in PreparedOperations(keyBytesMax: log.options.projectionKeyBytesMax) }
    }

    /// Whether events of a type, as stored, can concern any of the definitions.
    func isOfInterest(_ type: String, born: SchemaVersion) throws -> Bool {
        try !interested(in: path(type, born)).isEmpty
    }

    func removeAll() {
        for output in outputs { output.removeAll() }
        folded = 0
    }

    /// Bytes of operations that are waiting to be applied.
    var bytes: Int { outputs.reduce(0) { $0 + $1.operations.bytes.count } }

    /// Writes down what an event does. What it can't do becomes a rejection of the definitions that it concerns.
    func prepare(_ record: borrowing RecordView, epoch: Epoch) throws {
        let route = try route(of: record)
        if route.interested.isEmpty { return }
        folded += 1
        let position = record.position
        for index in route.interested { outputs[index].beginEvent() }
        var facts = EventFacts(
            epoch: epoch, position: position, revision: record.revision, type: "", stream: "", time: record.time,
            id: readsID ? record.id : nil, born: record.born, version: version, part: 0)
        let metadata = record.metadata
        do {
            if readsStream { facts.stream = try names.name(of: record, at: version).text }
            func fold(_ image: borrowing Image) throws {
                facts.type = image.type
                facts.part = image.part
                if route.type != image.type {
                    (route.type, route.rules) = (image.type, route.interested.map { folds[$0].rule(of: image.type) ?? -1 })
                }
                for (index, rule) in zip(route.interested, route.rules) where rule >= 0 {
                    outputs[index].prepare(facts, rule: rule, payload: image.payload, metadata: metadata, folds[index], &workspace)
                }
            }
            if route.path.merges { return try merged.view(position, epoch, fold) }
            try viewer.run(
                route.path, payload: record.payload, time: record.time, stream: try names.name(of: record, at: record.born).text,
                metadata: metadata, fold)
        } catch EvstoreError.noImage(var failure) {
            failure.position = position
            for index in route.interested { outputs[index].reject(position, .image(failure)) }
        }
    }

    private func route(of record: borrowing RecordView) throws -> Route {
        let key = RouteKey(type: record.type, born: record.born)
        if let route, route.key == key { return route }
        let found: Route
        if let known = routes[key] {
            found = known
        } else {
            let path = try path(record.typeName, record.born)
            found = Route(key, interested(in: path), path)
            routes[key] = found
        }
        route = found
        return found
    }

    private func path(_ type: String, _ born: SchemaVersion) throws -> Path { try viewer.path(type: type, born: born, to: version) }

    private func interested(in path: Path) -> [Int] {
        let images = path.types
        return consumed.indices.filter { !consumed[$0].isDisjoint(with: images) }
    }

}
