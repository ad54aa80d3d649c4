internal import Bytes
internal import EventLog
internal import EventModel
internal import Hashing
internal import LMDB

/// Writes the salvaged blocks and rows to a new log: unchanged, or renumbered.
struct SalvageWriter {
    /// The progress of copying, and the types and the newest birth version in the copied blocks.
    private struct Copying {
        var index = 0
        var types: [TypeID: String] = [:]
        var newestBirth: UInt32 = 0
    }

    /// How many ids of types may be missing: each gets a row with a made-up name.
    private static let typeHolesMax = 4_096

    private var salvage: Salvage
    private let store: String
    private let options: Options
    private let progress: Salvage.Progress
    private let keys: SalvagedKeys?
    /// Nil where the events are not sealed.
    private let coverage: KeyCoverage?

    /// - Throws: `EvstoreError`: keysRefused, nothingToSalvage where the keys open nothing.
    init(_ salvage: Salvage, _ store: String, _ options: Options, _ progress: @escaping Salvage.Progress) throws {
        (self.salvage, self.store, self.options, self.progress) = (salvage, store, options, progress)
        keys = try SalvagedKeys.find(of: salvage, options)
        coverage = try keys.map { try KeyCoverage(salvage, $0, progress) }
        self.salvage.log.leaveOut(coverage?.unopenable ?? [])
        if self.salvage.log.blocks.isEmpty, self.salvage.log.unconfirmed.isEmpty {
            throw EvstoreError.nothingToSalvage(path: salvage.source.path)
        }
    }

    func run(
        _ unconfirmed: (String, LineSealer?, (EventLog.UnconfirmedEvent) throws -> Void) throws -> Void,
        _ finish: (inout LogUpdate, SalvagedRows) throws -> Void
    ) throws -> SalvageReport {
        let isWhole = salvage.isWhole && coverage?.isMixed != true
        let log = try LogBuilder(at: store, isWhole ? salvage.storeID ?? .make() : .make(), options, keys?.new(isWhole: isWhole))
        defer { log.close() }
        if isWhole, let subjects = log.access.keys?.subjects { try keys?.keys.subjects.copy(to: subjects, losing: coverage?.slots ?? [:]) }
        var names = try SalvagedNames(salvage)
        let newestBirth = try isWhole ? copy(to: log) : renumber(to: log, &names)
        let rows = SalvagedRows(
            numbers: salvage.remains.numbers, newestBirth: SchemaVersion(newestBirth), isRenumbered: !isWhole, catalogues: catalogues)
        if !salvage.log.unconfirmed.isEmpty {
            try unconfirmed(store, log.access.makeLineSealer()) { lend in try self.lend(log, &names, isRenumbered: !isWhole, lend) }
        }
        let last = try log.finish({ try progress("check", 0, 0) }) { update in
            if isWhole { try continueEpochs(&update) }
            try finish(&update, rows)
        }
        return SalvageReport(
            position: last.position, epoch: last.epoch, events: salvage.events, gaps: salvage.log.gaps,
            unconfirmed: salvage.log.unconfirmed.sum { UInt64($0.count) }, lostNames: names.lost.map(\.text),
            lostRows: salvage.remains.lostRows.sorted(), endKnown: salvage.remains.isEndKnown, renumbered: !isWhole,
            lostKeys: (coverage?.lost(names) ?? []).map { LostKey(stream: $0.stream.text, events: $0.events) },
            unopened: coverage?.unopened ?? 0, dataKeys: coverage?.dataKeys.sorted() ?? [], bytesScanned: salvage.bytesScanned)
    }

    private var catalogues: [Catalogue: [(key: [UInt8], value: [UInt8])]] {
        var all: [Catalogue: [(key: [UInt8], value: [UInt8])]] = [:]
        for catalogue in Catalogue.allCases {
            let rows = salvage.remains.rows[catalogue.rawValue] ?? [:]
            all[catalogue] = rows.map { ($0.key, $0.value) }.sorted { $0.key.lexicographicallyPrecedes($1.key) }
        }
        return all
    }

    // MARK: Unchanged

    /// Copies the blocks unchanged; returns the newest birth version.
    private func copy(to log: LogBuilder) throws -> UInt32 {
        let blocks = salvage.log.blocks
        var copying = Copying()
        if blocks.isEmpty { return 0 }
        try log.fill(&copying) { copying, put in
            let found = blocks[copying.index]
            let bytes = try salvage.read(found)
            let block = try BlockView(checking: bytes.lent, at: found.first, storeTag: found.tag)
            for (id, name) in block.types { copying.types[id] = name }
            for index in 0 ..< block.count { copying.newestBirth = max(copying.newestBirth, block.record(index).born.rawValue) }
            try put(found.first, bytes.lent)
            copying.index += 1
            try progress("write", found.last.rawValue, salvage.events)
            return copying.index < blocks.count
        }
        try log.put(types: withoutHoles(copying.types))
        try log.put(epochs: epochs)
        return copying.newestBirth
    }

    /// Adds types that are missing in between, since the id of a new type is the count of types plus one.
    private func withoutHoles(_ types: [TypeID: String]) throws -> [TypeID: String] {
        var types = types
        var names = Set(types.values)
        for (key, row) in salvage.remains.rows["types"] ?? [:] where row.count == 4 {
            let id = row.lent.load(TypeID.self, at: 0)
            guard types[id] == nil, let name = String(utf8: key.lent), id > 0, id <= TypeID(types.count + Self.typeHolesMax) else {
                continue
            }
            if names.insert(name).inserted { types[id] = name }
        }
        let last = types.keys.max() ?? 0
        guard Int(last) - types.count <= Self.typeHolesMax else {
            throw EvstoreError.storeDamaged(path: salvage.source.path, reason: "its types have numbers up to \(last), which no store gives")
        }
        for id in 1 ..< max(last, 1) where types[id] == nil { types[id] = "lost:type-\(id)" }
        return types
    }

    /// A row for every epoch: from the links of blocks, or from the damaged table for an epoch without blocks.
    private var epochs: [(epoch: Epoch, at: Position, link: Digest)] {
        let proven = salvage.log.cuts
        let noted = (salvage.remains.rows["epochs"] ?? [:]).compactMap { key, row -> (epoch: Epoch, at: Position, link: Digest)? in
            guard key.count == 4, row.count == 40, let link = Digest(Array(row[8...])) else { return nil }
            let epoch = Epoch(key.lent.load(UInt32.self, at: 0).byteSwapped)
            guard epoch > .first, epoch.rawValue < .max, !proven.contains(where: { $0.epoch == epoch }) else { return nil }
            return (epoch, Position(row.lent.load(UInt64.self, at: 0)), link)
        }
        return noted + proven
    }

    /// Begins a new epoch after all known ones, since the damaged log may have held more events than were found.
    private func continueEpochs(_ update: inout LogUpdate) throws {
        let seen = epochs.map(\.epoch) + [salvage.remains.epoch, salvage.log.blocks.last?.epoch].compactMap(\.self)
        update.state.epoch = seen.filter { $0.rawValue < .max }.max() ?? .first
        try update.cut(to: update.last.position, later: .fromClock)
    }

    // MARK: Renumbered

    private func renumber(to log: LogBuilder, _ names: inout SalvagedNames) throws -> UInt32 {
        let blocks = salvage.log.blocks
        let renumbering = Renumbering(log.access)
        var state = Renumbering.State(names: names, link: Epochs.genesis(log.access.storeID))
        if blocks.isEmpty { return 0 }
        try log.fill(&state) { state, put in
            let found = blocks[state.blocks]
            let bytes = try salvage.read(found)
            let block = try BlockView(checking: bytes.lent, at: found.first, storeTag: found.tag)
            try open(block) { try renumbering.append($0, &state, put) }
            try progress("write", state.next.previous.rawValue, salvage.events)
            return state.blocks < blocks.count
        }
        if let subjects = log.access.keys?.subjects {
            for lost in coverage?.lost(state.names) ?? [] { try subjects.lose(lost.stream) }
            try subjects.flush()
        }
        try log.put(types: Dictionary(uniqueKeysWithValues: state.types.map { ($0.value, $0.key.text) }))
        names = state.names
        return state.newestBirth
    }

    // MARK: In doubt

    private func lend(
        _ log: LogBuilder, _ names: inout SalvagedNames, isRenumbered: Bool, _ lend: EventLog.UnconfirmedEvent
    ) throws {
        for found in salvage.log.unconfirmed {
            let bytes = try salvage.read(found)
            let block = try BlockView(checking: bytes.lent, at: found.first, storeTag: found.tag)
            let types = Dictionary(block.types.map { ($0.id, $0.name) }) { first, _ in first }
            try open(block) { block in
                for index in 0 ..< block.count {
                    let record = block.record(index)
                    if !isRenumbered, names.name(ofStream: record.streamID) == nil, let name = try name(of: record.streamID, log) {
                        names.learn(record.streamID, name)
                    }
                    try lend(record, names.name(of: record), types[record.type] ?? "")
                }
            }
        }
    }

    private func open(_ block: borrowing BlockView, _ body: (borrowing BlockView) throws -> Void) throws {
        guard let keys, block.isSealed else { return try body(block) }
        try keys.open(block, body)
    }

    private func name(of stream: UInt64, _ log: LogBuilder) throws -> StreamName? {
        try log.access.environment.read { try Blocks.record(at: Position(stream), $0, log.access)?.streamName }
    }
}

/// Appends events anew, in their order, if some in between are missing: the new positions and revisions have no gaps.
final class Renumbering {
    /// The progress, copied before each transaction, since a transaction may be repeated.
    struct State {
        var names: SalvagedNames
        var link: Digest
        /// How many blocks were appended.
        var blocks = 0
        var next = Position(1)
        var types: [Name: TypeID] = [:]
        var newestBirth: UInt32 = 0
        fileprivate var streams: [UInt64: Stream] = [:]
        /// The old position of the last event.
        fileprivate var last = Position.start
    }

    /// A stream in the new log: its id, its last revision, and the positions on the jump chain of its head, with the head last.
    fileprivate struct Stream {
        let id: UInt64
        var revision: UInt64 = 0
        var chain: [UInt64]
    }

    private var writer: BlockWriter

    init(_ access: LogAccess) { writer = BlockWriter(access) }

    func append(_ block: BlockView, _ state: inout State, _ put: BlockWriter.BlockSink) throws {
        let types = Dictionary(block.types.map { ($0.id, $0.name) }) { first, _ in first }
        writer.begin(.first, first: state.next, link: state.link, time: block.time)
        for index in 0 ..< block.count {
            let record = block.record(index)
            let events = [StoredEvent(copying: record, of: state.names.name(of: record), types[record.type] ?? "")]
            let place = place(of: record, events[0].type, &state)
            try writer.add(events.span, 0, place, put)
            state.newestBirth = max(state.newestBirth, record.born.rawValue)
            (state.last, state.next) = (record.position, state.next.next)
        }
        try writer.finish(put)
        state.link = writer.lastLink
        state.blocks += 1
    }

    private func place(of record: RecordView, _ type: String, _ state: inout State) -> BlockWriter.AssignedFields {
        let id = state.types[type] ?? TypeID(state.types.count + 1)
        state.types[type] = id
        let isSameAppend = record.continuesAppend && state.last > .start && record.position == state.last.next
        var place = BlockWriter.AssignedFields(type: id, isSameAppend: isSameAppend, madeID: record.idGiven ? nil : record.id.uuid)
        let position = state.next.rawValue
        guard var stream = state.streams[record.streamID], let before = stream.chain.last else {
            state.streams[record.streamID] = Stream(id: position, chain: [position])
            place.stream = position
            return place
        }
        stream.revision += 1
        (place.stream, place.revision, place.previous, place.jump) = (stream.id, stream.revision, before, before)
        if JumpList.isMerging(stream.revision), stream.chain.count >= 3 {
            place.jump = stream.chain[stream.chain.count - 3]
            stream.chain.removeLast(2)
        }
        stream.chain.append(position)
        state.streams[record.streamID] = stream
        return place
    }
}
