internal import Bytes
internal import EventLog
internal import EventModel
internal import JSONText
internal import SchemaEvolution

/// The first stage of folding (`Fold.prepare`), for several definitions of one version at once: makes the images of each event once, and
/// records the operations on rows. Each thread has its own.
final class EventPreparer {
    /// The cached information about events of one type and birth version.
    private final class Route {
        let key: StoredKind
        /// The definitions that an image may affect; empty if the events can be skipped.
        let interested: [Int]
        let path: Path
        let uses: UniqueArray<Use>

        init(_ key: StoredKind, _ interested: [Int], _ path: Path, _ uses: [Use]) {
            (self.key, self.interested, self.path) = (key, interested, path)
            self.uses = UniqueArray(uses)
        }

        /// Records the operations of an image in the output of each definition that consumes it.
        func prepare(
            _ image: borrowing Image, _ facts: inout EventFacts, _ metadata: RawSpan, _ workspace: inout FoldWorkspace,
            _ outputs: inout FixedArray<PreparedOperations>
        ) {
            facts.take(image)
            for index in 0 ..< uses.count {
                let use = uses[index]
                guard use.type == image.typeIndex else { continue }
                let call = RuleCall(rule: use.rule, values: use.values, metadata: metadata)
                outputs[use.definition].prepare(facts, image, call, &workspace)
            }
        }
    }

    /// What one definition does with images of one type.
    private struct Use: BitwiseCopyable, Sendable {
        /// The type's index in `history.types(at: version)`.
        let type: Int
        let definition: Int
        let rule: Int
        /// The index of the rule's first value among the values that are read.
        let values: Int
    }

    /// One output for each definition, in order.
    var outputs: FixedArray<PreparedOperations>
    var targets: Range<Int> { 0 ..< outputs.count }
    private let log: EventLog
    private let viewer: EventViewer
    private let folds: [any Fold]
    private let consumed: [Set<Name>]
    private let readsStream, readsID: Bool
    private var routes: [StoredKind: Route] = [:]
    private var folding = FoldWorkspace()
    private var witnesses: Witnesses?

    init(
        _ log: EventLog, _ history: History, _ definitions: [Definition], at version: SchemaVersion, notingWitnesses: Bool = false
    ) throws(EvstoreError) {
        self.log = log
        witnesses = notingWitnesses ? Witnesses() : nil
        viewer = EventViewer(log, history, StreamNames(log, history), at: version)
        let folds = try definitions.map { (definition) throws(EvstoreError) in try definition.makeFold(TagCodes(log)) }
        self.folds = folds
        consumed = definitions.map(\.consumes)
        readsStream = folds.contains { $0.readsStream }
        readsID = folds.contains { $0.readsID }
        outputs = Self.makeOutputs(folds, keyBytesMax: log.options.projectionKeyBytesMax)
    }

    /// Whether events of a stored type can affect any of the definitions.
    func isOfInterest(_ type: String, born: SchemaVersion) throws -> Bool {
        try !interested(in: viewer.path(type: type, born: born)).isEmpty
    }

    /// Whether no definition needs the personal values of a stored type's events.
    func ignoresPersons(_ type: String, born: SchemaVersion) throws -> Bool {
        let path = try viewer.path(type: type, born: born)
        let interested = interested(in: path)
        return try viewer.paths.ignoresPersons(reduced(path, for: interested)) { [folds] in
            Self.reads(of: $0, interested.map { folds[$0] })
        }
    }

    func removeAll() {
        for target in targets { outputs[target].removeAll() }
    }

    /// Drops everything that was read from the log, and its memory; compiled paths are kept.
    func removeEvents() {
        outputs = Self.makeOutputs(folds, keyBytesMax: log.options.projectionKeyBytesMax)
        folding = FoldWorkspace()
        viewer.removeEvents()
    }

    private static func makeOutputs(_ folds: [any Fold], keyBytesMax: Int) -> FixedArray<PreparedOperations> {
        FixedArray(count: folds.count) { PreparedOperations(folds[$0], keyBytesMax: keyBytesMax) }
    }

    /// For each trace, the first prepared events that took it.
    var witnessed: Witnesses.List { witnesses?.list ?? Witnesses.List() }

    var bytes: Int { targets.sum { outputs[$0].bytes } }

    /// Records the operations of a block's events. An event that fails becomes a rejection of the definitions that it affects.
    /// - Parameters:
    ///   - reader: lends the block.
    ///   - indices: the events to prepare; nil means all events for which the block was lent.
    func prepare(_ block: borrowing BlockView, _ reader: borrowing LogReader, _ indices: Range<Int>? = nil) throws {
        try prepare(block, indices ?? block.indices, reader, &folding, &outputs)
    }

    private func prepare(
        _ block: borrowing BlockView, _ indices: Range<Int>, _ reader: borrowing LogReader, _ folding: inout FoldWorkspace,
        _ outputs: inout FixedArray<PreparedOperations>
    ) throws {
        guard let first = indices.first else { return }
        var facts = EventFacts(epoch: block.epoch, version: viewer.target)
        // Consecutive events mostly have equal routes.
        var route = try route(of: block.record(first))
        for index in indices {
            let record = block.record(index)
            if StoredKind(type: record.type, born: record.born) != route.key { route = try self.route(of: record) }
            if route.interested.isEmpty { continue }
            let metadata = record.metadata
            do {
                try note(record, reader, in: &facts)
                try viewer.view(record, along: route.path, reader) { route.prepare($0, &facts, metadata, &folding, &outputs) }
                if let trace = viewer.trace { witnesses?.note(record, trace: trace) }
            } catch EvstoreError.noImage(let failure) {
                for index in route.interested { outputs[index].reject(record.position, .image(failure)) }
            }
        }
    }

    /// Records what folds may read of an event beside its payload.
    private func note(_ record: borrowing RecordView, _ reader: borrowing LogReader, in facts: inout EventFacts) throws {
        (facts.position, facts.revision, facts.time, facts.born) = (record.position, record.revision, record.time, record.born)
        if readsID { facts.id = record.id }
        if readsStream { facts.stream = try viewer.names.name(of: record, at: viewer.target, reader).text }
    }

    private func route(of record: borrowing RecordView) throws -> Route {
        let key = StoredKind(type: record.type, born: record.born)
        if let known = routes[key] { return known }
        let path = try viewer.path(of: record)
        let interested = interested(in: path)
        let route = Route(key, interested, try reduced(path, for: interested), uses(of: path, interested))
        routes[key] = route
        return route
    }

    /// The path, reduced to what the definitions read.
    private func reduced(_ path: Path, for interested: [Int]) throws -> Path {
        try viewer.path(type: path.type, born: path.born) { [folds] in Self.reads(of: $0, interested.map { folds[$0] }) }
    }

    private func uses(of path: Path, _ interested: [Int]) -> [Use] {
        var found: [Use] = []
        for (type, name) in path.images {
            var values = 0
            for index in interested {
                guard let rule = folds[index].rule(of: name) else { continue }
                found.append(Use(type: type, definition: index, rule: rule, values: values))
                values += folds[index].reads(rule)?.count ?? 0
            }
        }
        return found
    }

    /// The pointers that all of the folds read of an image; nil if one of them reads the whole image.
    private static func reads(of type: String, _ folds: [any Fold]) -> [JSONPointer]? {
        var all: [JSONPointer] = []
        for fold in folds {
            guard let rule = fold.rule(of: type) else { continue }
            guard let reads = fold.reads(rule) else { return nil }
            all += reads
        }
        return all
    }

    private func interested(in path: Path) -> [Int] {
        let images = Set(of: path.types)
        return consumed.indices.filter { !consumed[$0].isDisjoint(with: images) }
    }
}

/// What events of one type and birth version have in common.
struct StoredKind: Hashable {
    let type: TypeID
    let born: SchemaVersion
}
