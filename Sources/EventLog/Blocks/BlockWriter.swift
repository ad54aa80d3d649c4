internal import Bytes
package import EventModel
package import Hashing
internal import LMDB
internal import Platform

/// Assembles records into blocks that are ready to be stored. Its buffers are kept between commits.
///
/// The first blocks of a commit are completed on the writing thread; the further blocks of a large commit by `BlockChain` in parallel.
package struct BlockWriter: ~Copyable {
    /// The fields of a record that do not come from the event itself.
    package struct AssignedFields {
        package var type: TypeID
        package var isSameAppend: Bool
        /// Nil where the caller gave an id.
        package var madeID: (UInt64, UInt64)?
        package var stream: UInt64
        /// Zero for a stream's first event, like the pointers.
        package var revision: UInt64
        package var previous: UInt64
        package var jump: UInt64

        package init(
            type: TypeID, isSameAppend: Bool, madeID: (UInt64, UInt64)? = nil, stream: UInt64 = 0, revision: UInt64 = 0,
            previous: UInt64 = 0, jump: UInt64 = 0
        ) {
            (self.type, self.isSameAppend, self.madeID) = (type, isSameAppend, madeID)
            (self.stream, self.revision, self.previous, self.jump) = (stream, revision, previous, jump)
        }
    }

    /// Takes a completed block, with its first position.
    package typealias BlockSink = (Position, RawSpan) throws -> Void

    private var commit: BlockDraft.Commit
    private let keys: StoreKeys?
    private let storeID: StoreID
    /// Whether blocks of new events are sealed as a whole.
    private let isWhole: Bool
    private var sealing: RecordSealing
    /// The link of the last finished block.
    package private(set) var lastLink = Digest.zero
    private var draft = BlockDraft()
    private var count = 0
    private let chain = BlockChain()
    /// Full drafts to be handed to the chain, and empty ones to go on with.
    private var full: [BlockChain.Carrier] = []
    private var empty: [BlockChain.Carrier] = []

    /// The number of blocks whose completion takes no longer than waking another thread.
    private static let aloneMax = 8
    /// The fewest full drafts for which the chain's thread is woken.
    private static let carriedMin = 4

    /// A writer of blocks in the store's own form.
    package init(_ access: LogAccess) { self.init(access.storeID, access.keys, isWhole: access.sealsBlocks) }

    /// - Parameters:
    ///   - keys: the keys of a store whose events are sealed.
    ///   - isWhole: whether its blocks are sealed as a whole.
    package init(_ storeID: StoreID, _ keys: StoreKeys? = nil, isWhole: Bool = false) {
        (self.storeID, self.keys, self.isWhole) = (storeID, keys, isWhole)
        commit = BlockDraft.Commit(storeTag: storeID.tag, epoch: .first, time: 0, isSealed: keys != nil, codes: keys?.codes)
        sealing = RecordSealing(keys, storeID, isWhole: isWhole)
    }

    deinit { chain.close() }

    /// Begins a commit: `first` is the next position, `link` the link for its first block.
    package mutating func begin(_ epoch: Epoch, first: Position, link: Digest, time: Timestamp) {
        (commit.epoch, commit.time, lastLink, count) = (epoch, time.microseconds, link, 0)
        commit.whole = isWhole ? whole : nil
        // Drafts that a failed commit has left are kept for use.
        do throws(EvstoreError) { keep(full + (try chain.takeAll().carriers)) } catch {}
        full = []
        draft.begin(at: first, commit)
    }

    /// Adds one event of a span at the next position; completed blocks go to `store` first.
    package mutating func add(_ events: Span<StoredEvent>, _ index: Int, _ place: AssignedFields, _ store: BlockSink) throws {
        try sealing.seal(events, index, place, commit.epoch, draft.next)
        if Self.add(events, index, place, sealing, to: &draft) { return }
        try complete(store)
        _ = Self.add(events, index, place, sealing, to: &draft)
    }

    @inline(__always)
    private static func add(
        _ events: Span<StoredEvent>, _ index: Int, _ place: AssignedFields, _ sealing: borrowing RecordSealing, to draft: inout BlockDraft
    ) -> Bool { draft.add(events, index, place, sealing.text) }

    /// Adds a record as it is in another block: for a block that is rewritten up to a cut.
    /// - Parameter opener: opens the records of a sealed store.
    /// - Throws: `EvstoreError`: corruptBlock where the envelope of a whole block can't be opened, keysRefused where there are no keys for
    ///   that.
    mutating func add(
        copyOf record: borrowing RecordView, of block: borrowing BlockView, _ names: TypeNames, _ opener: inout RecordOpener?
    ) throws(EvstoreError) {
        if draft.isEmpty {
            // The copy takes the form of the original block.
            (commit.isSealed, commit.whole) = (block.isSealed, block.isWhole ? whole : nil)
            draft.begin(at: draft.first, commit)
        }
        guard block.isWhole else { return draft.add(copyOf: record, names) }
        guard commit.whole != nil, opener != nil else {
            throw .keysRefused(path: keys?.store ?? "", reason: "a block is sealed, and no key was given to write it again")
        }
        try opener?.lendSecret(of: record) { draft.add(copyOf: record, names, secret: $0) }
    }

    private var whole: BlockDraft.Commit.Whole? { keys.map { BlockDraft.Commit.Whole(key: $0.writing, storeID: storeID) } }

    /// Completes the current block, if it has a record, and hands over all blocks that were not handed over yet.
    package mutating func finish(_ store: BlockSink) throws {
        if !draft.isEmpty { try complete(store) }
        guard count > Self.aloneMax else { return }
        if !full.isEmpty { chain.add(full, commit, after: lastLink) }
        full = []
        let (ready, link) = try chain.takeAll()
        try self.store(ready, store)
        lastLink = link
    }

    private mutating func complete(_ store: BlockSink) throws {
        count += 1
        let next = draft.next
        if count > Self.aloneMax {
            let carrier = empty.popLast() ?? BlockChain.Carrier()
            swap(&carrier.draft, &draft)
            full.append(carrier)
            if full.count == Self.carriedMin {
                chain.add(full, commit, after: lastLink)
                full = []
                try self.store(try chain.takeReady(), store)
            }
        } else {
            lastLink = try draft.complete(commit, after: lastLink)
            try store(draft.first, draft.text)
        }
        draft.begin(at: next, commit)
    }

    private mutating func store(_ ready: [BlockChain.Carrier], _ store: BlockSink) throws {
        for carrier in ready { try store(carrier.draft.first, carrier.draft.text) }
        keep(ready)
    }

    private mutating func keep(_ carriers: [BlockChain.Carrier]) {
        // A draft that has held a very large event takes too much memory to be kept.
        empty += carriers.filter { $0.draft.roomBytes <= 4 * BlockLayout.bytesMax }
    }
}

/// Completes blocks on a thread of its own, one after the other, while the writing thread fills the next ones: checksums and links take as
/// long as filling.
final class BlockChain: Sendable {
    /// A draft on its way between the threads.
    final class Carrier: @unchecked Sendable {
        // Sound because only one thread has it at a time.
        var draft = BlockDraft()
    }

    private struct State {
        var waiting: [Carrier] = []
        var ready: [Carrier] = []
        /// How many drafts wait or are being completed.
        var underWay = 0
        var commit: BlockDraft.Commit?
        var link = Digest.zero
        var failure: EvstoreError?
        var hasThread = false
        var isClosed = false

        mutating func takeReady() throws(EvstoreError) -> [Carrier] {
            defer { (ready, failure) = ([], nil) }
            if let failure { throw failure }
            return ready
        }
    }

    private let state = Monitor(State())
    /// The most drafts that may be under way at once, so that memory stays bounded.
    private static let underWayMax = 32

    /// Takes full drafts. The first block of a commit links to `link`; each other one links to the block before it.
    func add(_ carriers: [Carrier], _ commit: BlockDraft.Commit, after link: Digest) {
        let needsThread = state.change { state in
            if state.commit == nil { (state.commit, state.link) = (commit, link) }
            state.waiting += carriers
            state.underWay += carriers.count
            defer { state.hasThread = true }
            return !state.hasThread
        }
        if needsThread { start() }
    }

    /// The drafts that are complete by now, in their order; waits while too many are not.
    /// - Throws: where one of them could not be completed.
    func takeReady() throws(EvstoreError) -> [Carrier] {
        try state.wait(until: { $0.underWay <= Self.underWayMax }) { (state) throws(EvstoreError) in try state.takeReady() }
    }

    /// All drafts, complete, and the link of the last one; the next draft begins another commit.
    /// - Throws: where one of them could not be completed.
    func takeAll() throws(EvstoreError) -> (carriers: [Carrier], link: Digest) {
        try state.wait(until: { $0.underWay == 0 }) { (state) throws(EvstoreError) in
            state.commit = nil
            return (try state.takeReady(), state.link)
        }
    }

    func close() { state.change { $0.isClosed = true } }

    private func start() {
        do { _ = try WorkerThread.start("evstore-chain") { self.run() } } catch {
            // Without a thread, the caller that adds drafts completes them.
            state.withLock { $0.hasThread = false }
            while completeWaiting() {}
        }
    }

    private func run() {
        while state.wait(until: { !$0.waiting.isEmpty || $0.isClosed }, { !$0.waiting.isEmpty }) { _ = completeWaiting() }
    }

    /// Completes the waiting drafts; false where there are none.
    private func completeWaiting() -> Bool {
        let (carriers, commit, before) = state.withLock { state in
            defer { state.waiting = [] }
            return (state.waiting, state.commit, state.link)
        }
        guard let commit, !carriers.isEmpty else { return false }
        var link = before
        var failure: EvstoreError?
        do throws(EvstoreError) {
            for carrier in carriers { link = try carrier.draft.complete(commit, after: link) }
        } catch { failure = error }
        state.change { state in
            state.failure = state.failure ?? failure
            state.ready += carriers
            state.underWay -= carriers.count
            state.link = link
        }
        return true
    }
}
