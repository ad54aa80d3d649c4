internal import Bytes
internal import EventLog
internal import EventModel
internal import LMDB
internal import Platform
internal import Sealing

/// The keys of a damaged store whose events are sealed.
struct SalvagedKeys {
    let keys: StoreKeys
    let file: [UInt8]
    let secret: StoreSecret
    let storeID: StoreID

    /// The keys beside a damaged log; nil where there are none, or no secret was given.
    /// - Throws: `EvstoreError`: keysRefused, storeDamaged.
    static func open(beside source: SalvageSource, _ options: Options) throws -> StoreKeys? {
        guard let secret = options.secret, let store = source.store else { return nil }
        return try StoreKeys.file(at: store).flatMap { StoreID($0.storeID) }.map { try StoreKeys(at: store, $0, secret) }
    }

    private static func isSealed(_ block: FoundBlock, of salvage: Salvage) throws -> Bool {
        let bytes = try salvage.read(block)
        return bytes.lent.load(UInt32.self, at: BlockLayout.Header.flags) & BlockLayout.Mark.sealed != 0
    }

    /// Whether the events are sealed, and no file beside the log has their keys. False where that can't be found out.
    static func areMissing(of salvage: Salvage) -> Bool {
        do {
            guard let first = salvage.log.blocks.first ?? salvage.log.unconfirmed.first else { return false }
            let isSealed = try isSealed(first, of: salvage)
            guard isSealed, let store = salvage.source.store else { return isSealed }
            let file = try StoreKeys.file(at: store)
            return file == nil
        } catch {
            if case EvstoreError.storeDamaged = error { return true }
            return false
        }
    }

    /// Nil where the events are not sealed.
    /// - Throws: `EvstoreError`: keysRefused, storeDamaged.
    static func find(of salvage: Salvage, _ options: Options) throws -> SalvagedKeys? {
        let path = salvage.source.path
        guard let first = salvage.log.blocks.first ?? salvage.log.unconfirmed.first else { return nil }
        guard try isSealed(first, of: salvage) else {
            if options.secret == nil { return nil }
            throw EvstoreError.keysRefused(
                path: path, reason: "its events are not sealed; salvage it without a key, then `recipher` the store")
        }
        guard let secret = options.secret else {
            throw EvstoreError.keysRefused(path: path, reason: "its events are sealed, and no key was given")
        }
        guard let storeID = salvage.storeID, let keys = salvage.keys, let file = try StoreKeys.bytes(at: keys.store) else {
            throw EvstoreError.storeDamaged(
                path: path,
                reason: "its events are sealed, and the file \(StoreKeys.fileName) is not beside its log: put there that of a backup")
        }
        guard keys.file.storeID == storeID.bytes else {
            throw EvstoreError.storeDamaged(path: path, reason: "its file \(StoreKeys.fileName) is of another store")
        }
        return SalvagedKeys(keys: keys, file: file, secret: secret, storeID: storeID)
    }

    /// The keys of the new store: the copied blocks need the old keys.
    func new(isWhole: Bool) -> KeySource { isWhole ? .copied(file, secret) : .made(secret) }

    /// Lends a block decrypted, without the personal data whose key is damaged.
    /// - Throws: `EvstoreError.corruptBlock`, among others, where the block's code was not made with these keys.
    func open(_ block: borrowing BlockView, _ body: (borrowing BlockView) throws -> Void) throws {
        guard block.isCoded(by: keys.codes) else { throw Blocks.forged(block.first) }
        try keys.withOpener(storeID) { try $0.lend(block, .leftWhereLost, body) }
    }
}

/// Which of the found blocks the keys of a sealed log open, and which keys are missing.
struct KeyCoverage {
    /// Blocks that can't be opened, and the numbers of the data keys that they lack.
    private(set) var unopenable: Set<FoundBlock> = []
    private(set) var dataKeys: Set<UInt32> = []
    /// Damaged or missing slots, with the streams whose keys they held.
    private(set) var slots: [UInt32: StreamName] = [:]
    /// How many confirmed events of each stream have lost their personal data.
    private var lost: [UInt64: (name: StreamName, events: UInt64)] = [:]
    /// Whether a slot holds another key than the one that an event was sealed under, as after the file was lost and begun anew. Then all
    /// events are written anew.
    private(set) var isMixed = false

    /// How many events are in blocks that can't be opened.
    var unopened: UInt64 { unopenable.sum { UInt64($0.count) } }

    /// The streams that have lost personal data, under their names in the new store.
    func lost(_ names: SalvagedNames) -> [(stream: StreamName, events: UInt64)] {
        lost.map { (names.name(ofStream: $0.key) ?? $0.value.name, $0.value.events) }.sorted { $0.0 < $1.0 }
    }

    init(_ salvage: Salvage, _ keys: SalvagedKeys, _ progress: Salvage.Progress) throws {
        var names = try SalvagedNames(salvage)
        let blocks = salvage.log.blocks + salvage.log.unconfirmed
        let confirmed = salvage.log.blocks.count
        for (index, found) in blocks.enumerated() {
            if index % 64 == 0 { try progress("open", UInt64(index), UInt64(blocks.count)) }
            let bytes = try salvage.read(found)
            let block = try BlockView(checking: bytes.lent, at: found.first, storeTag: found.tag)
            // Rule 8: an unsealed block is refused, since anybody could have written it.
            guard block.isSealed else {
                unopenable.insert(found)
                continue
            }
            do { try keys.open(block) { try noteLost($0, isConfirmed: index < confirmed, &names, keys) } } catch let error as EvstoreError {
                guard case .corruptBlock = error else { throw error }
                unopenable.insert(found)
                dataKeys.formUnion(block.dataKeys.filter { id in !keys.keys.file.dataKeys.contains { $0.id == id } })
            }
        }
    }

    /// Notes which records of an opened block have lost their personal data.
    private mutating func noteLost(
        _ block: borrowing BlockView, isConfirmed: Bool, _ names: inout SalvagedNames, _ keys: SalvagedKeys
    ) throws {
        for index in 0 ..< block.count {
            let record = block.record(index)
            guard record.isLost || record.streamName != nil else { continue }
            let name = names.name(of: record)
            if record.isLost {
                if isConfirmed { lost[record.streamID, default: (name, 0)].events += 1 }
                do {
                    _ = try keys.keys.subjects.proven(record.subject)
                    if isConfirmed { isMixed = true }
                } catch is SlotDamage { slots[record.subject] = name }
            }
        }
    }
}

/// The names of streams by id: from their first events, from the readable part of the table, or made up where both are lost.
struct SalvagedNames {
    private var names: [UInt64: StreamName] = [:]
    private var ids: [String: UInt64] = [:]
    /// The names in the table for streams whose first event is lost.
    private let noted: [UInt64: StreamName]
    /// The names that were made up.
    private(set) var lost: [StreamName] = []

    init(_ salvage: Salvage) throws {
        guard let data = salvage.source.data, !salvage.log.gaps.isEmpty || !salvage.log.unconfirmed.isEmpty else {
            noted = [:]
            return
        }
        var noted: [UInt64: StreamName] = [:]
        let blocks = salvage.log.blocks
        for commit in try TreeRemains.commits(in: data) {
            var tree = try TreeRemains(commit, of: data)
            try tree.walk(TableDescriptor.log.kinds) { table, key, value in
                guard table == TableDescriptor.streams.name, value.count <= 8 + RowCode.bytes + RowChecksum.bytes, StreamName.isValid(key)
                else { return }
                let row = try data.read(value.count, at: value.offset)
                guard let bytes = salvage.remains.value(table, [UInt8](copying: key), row), bytes.count == 8, let name = String(utf8: key)
                else { return }
                let id = bytes.lent.load(UInt64.self, at: 0)
                // Other streams have their names in their first events.
                let isLost = blocks.first(endingFrom: Position(id)).map { $0.first > Position(id) } ?? true
                if noted[id] == nil, isLost { noted[id] = StreamName(unchecked: name) }
            }
        }
        self.noted = noted
    }

    func name(ofStream stream: UInt64) -> StreamName? { names[stream] }

    mutating func learn(_ stream: UInt64, _ name: StreamName) {
        names[stream] = name
        ids[name.text] = stream
    }

    /// The name of a record's stream, which is the same for all of its records, and different for each stream.
    mutating func name(of record: RecordView) -> StreamName {
        let stream = record.streamID
        if let name = names[stream] { return name }
        if let name = record.streamName ?? noted[stream], ids[name.text] == nil {
            learn(stream, name)
            return name
        }
        var name = StreamName(unchecked: "lost:\(stream)")
        // An earlier salvage may have given another stream this name.
        while ids[name.text] != nil { name = StreamName(unchecked: name.text + "+") }
        learn(stream, name)
        lost.append(name)
        return name
    }
}
