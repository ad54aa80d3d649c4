internal import Bytes
internal import EventLog
internal import EventModel
internal import Hashing
internal import LMDB
internal import Platform
internal import Sealing

/// The readable parts of a damaged log apart from its blocks: the store's id, the log's end, and the rows that no block has.
struct LogRemains {
    /// The log's end according to one source: the anchor, `log/ahead` or the newest commit.
    struct Claim {
        var epoch: Epoch
        var last: Position
        /// The link of the last block; nil where the source does not name it.
        var link: Digest?
    }

    typealias Rows = [[UInt8]: [UInt8]]

    /// The store's id according to each source, the most reliable first.
    private(set) var storeIDs: [StoreID] = []
    private var claims: [Claim] = []
    /// The blocks that are ahead, or that belong to an unfinished round: all of them were acknowledged.
    private(set) var running: [FoundBlock] = []
    /// Blocks in complete entries of earlier epochs or rounds.
    private(set) var ended: [FoundBlock] = []
    /// The pages of `log/ahead` that are not empty and have no complete entry.
    private(set) var brokenEntries: [Range<Int>] = []
    /// The blocks in the newest commit's table: first positions by offsets in `data.mdb`.
    private(set) var entries: [Int: UInt64] = [:]
    private(set) var pageBytes = 4_096
    private(set) var rows: [String: Rows] = [:]
    private(set) var numbers: StateStamp?
    /// The offset of the newest commit's last block, and that commit's epoch.
    private(set) var tip: Int?
    private(set) var epoch: Epoch?
    /// Whether both meta pages and the newest commit's table of blocks are undamaged, so that nothing else was committed.
    private(set) var isCertain = false
    /// Whether both meta pages are undamaged, so that the newest commit is known.
    private(set) var hasBothCommits = false
    /// Tables other than the blocks whose newest rows may be missing.
    private(set) var lostRows = Set(TableDescriptor.log.filter { $0.kept?.isMissed == true }.map(\.name))
    private(set) var hasAllEpochs = false
    private var newest: TreeRemains?
    private var rowCheck = RowCheck.unknown
    /// The tables that lack no row.
    private var hasAll: Set<String> = []

    private let source: SalvageSource
    /// Nil where rows have no codes, or the store's keys are unknown.
    private let codes: StoreCodes?
    private let hasCodes: Bool

    init(of source: SalvageSource, _ keys: StoreKeys? = nil) throws {
        (self.source, codes) = (source, keys?.codes)
        hasCodes = try keys?.file.hasCodes ?? Self.keyFileHasCodes(source)
        if let store = source.store {
            try readManifest(store)
            if let anchor = try Anchor.newest(at: store) {
                storeIDs.append(anchor.storeID)
                claims.append(Claim(epoch: anchor.epoch, last: anchor.last, link: anchor.link))
            }
        }
        if let ahead = source.ahead { try readAhead(ahead) }
        if let data = source.data { try readTrees(data) }
    }

    /// Whether no tree of the newest commit leads to the page at an offset.
    func isFree(_ block: FoundBlock) -> Bool { block.file == .data && newest?.isFree(block.offset) ?? false }

    /// Whether the newest commit's table lacks this block, as far as the table can be read.
    func isUnknown(_ block: FoundBlock) -> Bool {
        guard block.file == .data, entries[block.offset] != block.first.rawValue else { return false }
        return newest?.leaves["blocks"]?.contains { $0.contains(block.first.rawValue) } ?? false
    }

    /// Reads the manifest. Throws where it has a format that this program does not know; a missing or damaged manifest is no error.
    private mutating func readManifest(_ store: String) throws {
        do {
            let identity = try Manifest.identity(at: store)
            storeIDs.append(identity.id)
            rowCheck = identity.hasRowChecksums ? .checksum(identity.id.tag) : .none
        } catch EvstoreError.notAStore {}
    }

    // MARK: Checksums of rows

    private enum RowCheck {
        case unknown, none
        /// Rows have checksums with this store tag.
        case checksum(UInt64)
    }

    /// The store's tag in the checksums of rows; nil where rows have none.
    var checksumTag: UInt64? { if case .checksum(let tag) = rowCheck { tag } else { nil } }

    /// The value of a row; nil where its checksum or its code is wrong.
    func value(_ table: String, _ key: [UInt8], _ row: [UInt8]) -> [UInt8]? {
        guard let checksumTag, let descriptor = TableDescriptor.log[named: table],
            let checksum = RowChecksum(descriptor, storeTag: checksumTag)
        else { return row }
        guard let value = checksum.value(key.lent, row.lent) else { return nil }
        guard hasCodes else { return [UInt8](copying: value) }
        let code = codes.map { RowCode(checksum, $0) }
        guard let proven = code == nil ? RowCode.unproven(value) : code?.value(key.lent, value) else { return nil }
        return [UInt8](copying: proven)
    }

    /// Whether the key file says that rows have codes; it can be read without a secret.
    private static func keyFileHasCodes(_ source: SalvageSource) throws -> Bool {
        do { return try source.store.flatMap { try StoreKeys.file(at: $0) }?.hasCodes ?? false } catch EvstoreError.storeDamaged {
            return false
        }
    }

    /// Without a manifest, finds the store tag with which the checksum of a row is right: that of the id in `state`, or of another known
    /// id.
    private mutating func findChecksumTag(_ rows: [String: Rows]) {
        guard case .unknown = rowCheck else { return }
        let state = rows["state"] ?? [:]
        let own = state[StateRows.numbersKey].flatMap { StateRows.numbers(of: $0) }?.storeID
        for id in [own].compactMap(\.self) + storeIDs {
            let isFound = state.contains { key, row in
                guard let checksum = RowChecksum(.state, storeTag: id.tag) else { return false }
                return checksum.value(key.lent, row.lent) != nil
            }
            if isFound { rowCheck = .checksum(id.tag) }
        }
    }

    /// Whether the newest commit is known: from both meta pages, the anchor, or `log/ahead`.
    var isEndKnown: Bool { hasBothCommits || !claims.isEmpty }

    /// The log's end according to each source, given the found blocks.
    func claims(_ blocks: [FoundBlock]) -> [Claim] {
        let claims = claims.filter { $0.last <= .largest }
        guard let tip, let first = entries[tip] else { return claims }
        if let block = blocks.first(where: { $0.file == .data && $0.offset == tip }) {
            return claims + [Claim(epoch: max(epoch ?? block.epoch, block.epoch), last: block.last, link: block.link)]
        }
        return claims + [Claim(epoch: epoch ?? .first, last: Position(first), link: nil)]
    }

    // MARK: Ahead

    private static let emptyPage = checksum([UInt8](repeating: 0, count: WriteAhead.pageBytes).lent)

    private mutating func readAhead(_ file: File) throws {
        let older = try [0, 1].compactMap {
            try OlderRound.Header(salvaging: file.read(OlderRound.Header.bytes, at: $0 * WriteAhead.pageBytes))
        }
        let header = try WriteAhead.Header(file.read(WriteAhead.Header.bytes))
        storeIDs += [header?.storeID].compactMap(\.self) + older.map(\.storeID)
        let bytes = try file.read(WriteAhead.fileBytes)
        /// In the order of writing: by epoch, or by round of an older program.
        var found: [(order: UInt64, isOlder: Bool, block: FoundBlock)] = []
        var offset = WriteAhead.entriesStart
        while offset + WriteAhead.Entry.headerBytes <= bytes.count {
            let rest = bytes.lent.slice(offset, bytes.count - offset)
            if let entry = WriteAhead.Entry(whole: rest) {
                for block in Self.blocks(rest, WriteAhead.Entry.headerBytes, entry.blocksBytes, at: offset) {
                    found.append((UInt64(entry.epoch.rawValue), false, block))
                }
                offset += entry.pagesBytes
            } else if let entry = OlderRound.RoundEntry(whole: rest, at: 0) {
                for block in Self.blocks(rest, OlderRound.RoundEntry.headerBytes, entry.blocksBytes, at: offset) {
                    found.append((entry.round, true, block))
                }
                offset += entry.pagesBytes
            } else {
                let page = rest.slice(0, min(WriteAhead.pageBytes, rest.byteCount))
                if checksum(page) != Self.emptyPage { brokenEntries.append(offset ..< offset + page.byteCount) }
                offset += WriteAhead.pageBytes
            }
        }
        // Entries of this format belong to the log's epoch, or to one that a cut has ended. Without a header the highest epoch or round
        // counts: its blocks were acknowledged in any case.
        let isOlder = header == nil && found.allSatisfy(\.isOlder)
        let highest = found.filter { $0.isOlder == isOlder }.map(\.order).max() ?? 0
        let counting = isOlder ? older.max { $0.round < $1.round }.map { $0.base == nil ? 0 : $0.round } ?? highest : highest
        let isOpen = isOlder || header?.isOpen != false
        running = found.filter { isOpen && $0.isOlder == isOlder && $0.order == counting }.map(\.block)
        ended = found.filter { !isOpen || $0.isOlder != isOlder || $0.order != counting }.map(\.block)
        if let last = running.max(by: { ($0.epoch, $0.last) < ($1.epoch, $1.last) }) {
            claims.append(Claim(epoch: last.epoch, last: last.last, link: last.link))
        }
    }

    /// The blocks of an entry, beginning at `start`, up to the first invalid one.
    private static func blocks(_ bytes: RawSpan, _ start: Int, _ count: Int, at offset: Int) -> [FoundBlock] {
        var blocks: [FoundBlock] = []
        var next = start
        while let block = BlockLayout.block(bytes.slice(0, start + count), at: next) {
            let first = Position(block.load(UInt64.self, at: BlockLayout.Header.first))
            do throws(EvstoreError) {
                _ = try BlockLayout.check(block, at: first, storeTag: block.load(UInt64.self, at: BlockLayout.Header.storeTag))
            } catch { break }
            blocks.append(FoundBlock(block, in: .ahead, at: offset + next, isPlaced: true))
            next += block.byteCount
        }
        return blocks
    }

    // MARK: Trees

    /// The tables whose rows are in no block.
    private static let wanted = Set(TableDescriptor.log.filter { $0.kept != nil }.map(\.name))
    /// A limit: a row is at most as large as a version file.
    private static let rowBytesMax = 64 << 20

    private mutating func readTrees(_ file: File) throws {
        let commits = try TreeRemains.commits(in: file)
        if let first = commits.first { pageBytes = first.pageBytes }
        for (index, commit) in commits.enumerated() {
            var tree = try TreeRemains(commit, of: file)
            var found: [String: Rows] = [:]
            var last: Int?
            var blocks: [Int: UInt64] = [:]
            try tree.walk(TableDescriptor.log.kinds) { table, key, value in
                if table == "blocks" {
                    blocks[value.offset] = key.load(UInt64.self, at: 0)
                    last = value.offset
                } else if Self.wanted.contains(table), value.count <= Self.rowBytesMax {
                    let bytes = try file.read(value.count, at: value.offset)
                    if bytes.count == value.count { found[table, default: [:]][[UInt8](copying: key)] = bytes }
                }
            }
            findChecksumTag(found)
            var damaged: Set<String> = []
            for (table, all) in found {
                let whole = all.compactMap { key, row in value(table, key, row).map { (key, $0) } }
                if whole.count < all.count { damaged.insert(table) }
                found[table] = Rows(uniqueKeysWithValues: whole)
            }
            let isWhole = { (table: String) in tree.broken.isDisjoint(with: ["main", table]) && !damaged.contains(table) }
            for table in Self.wanted where index == 0 || !hasAll.contains(table) {
                rows[table, default: [:]].merge(found[table] ?? [:]) { newer, _ in newer }
                if isWhole(table) { hasAll.insert(table) }
            }
            guard index == 0 else { continue }
            (newest, entries) = (tree, blocks)
            hasBothCommits = commits.count == 2
            if hasBothCommits { lostRows = lostRows.filter { !isWhole($0) } }
            isCertain = hasBothCommits && isWhole("blocks")
            tip = last
            epoch = found["state"]?[StateRows.numbersKey].flatMap { StateRows.numbers(of: $0) }?.epoch
        }
        hasAllEpochs = hasAll.contains("epochs")
        if let row = rows["state"]?[StateRows.numbersKey].flatMap({ StateRows.numbers(of: $0) }) {
            numbers = row.stamp
            storeIDs.append(row.storeID)
        }
    }
}
