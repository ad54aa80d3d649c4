internal import Bytes
internal import EventModel
internal import Hashing
internal import LMDB
internal import Platform
internal import Synchronization

/// The words in the page `log/turn` (`TurnPage`) by which the processes that have a log open tell each other what is ahead of LMDB. Only
/// the process that has the writer's turn stores here, except that any process may note a failed sync.
///
///     64    u64  owner: a checksum of the store and its file; with another value nothing here is valid
///     72    u64  the last acknowledged position
///     80    u64  the number of LMDB's last transaction that is known to be durable
///     88    u32  the epoch of that position
///     92    u32  1 where the header of `log/ahead` is known to say that entries may follow
///     96    u32  1 once a sync of `log/ahead` has failed: nothing is written until all processes have closed the store
struct AheadPage: Sendable {
    private static let (whose, acknowledged, durable, epoch, open, failed) = (64, 72, 80, 88, 92, 96)
    private let page: SharedPage
    private let own: UInt64

    init(_ page: SharedPage, _ storeID: StoreID, at store: String) throws(StorageError) {
        self.page = page
        // Without the boot's id: a page from before the boot never claims more than LMDB has, and not all processes see the same boot id.
        own = checksum(Array("\(storeID) \(try LogFile.status(at: store).inode)".utf8).lent) | 1
    }

    var isWritable: Bool { page.isWritable }

    var areValid: Bool { page.longWord(Self.whose) { $0.load(ordering: .acquiring) } == own }

    func begin() {
        page.longWord(Self.whose) { $0.store(0, ordering: .sequentiallyConsistent) }
        page.longWord(Self.acknowledged) { $0.store(0, ordering: .relaxed) }
        page.longWord(Self.durable) { $0.store(0, ordering: .relaxed) }
        page.word(Self.open) { $0.store(0, ordering: .relaxed) }
        page.word(Self.failed) { $0.store(0, ordering: .relaxed) }
        page.longWord(Self.whose) { $0.store(own, ordering: .sequentiallyConsistent) }
    }

    /// How far events are acknowledged; `last` is 0 where that is LMDB's end.
    var end: AheadEnd {
        guard areValid else { return AheadEnd(epoch: 0, last: 0) }
        while true {
            let before = page.word(Self.epoch) { $0.load(ordering: .sequentiallyConsistent) }
            let last = page.longWord(Self.acknowledged) { $0.load(ordering: .sequentiallyConsistent) }
            let after = page.word(Self.epoch) { $0.load(ordering: .sequentiallyConsistent) }
            if after == before { return AheadEnd(epoch: before, last: last) }
        }
    }

    /// Acknowledges everything up to a position, which must be durable.
    func acknowledge(_ end: Checkpoint) {
        let now = end.epoch.rawValue
        if page.word(Self.epoch, { $0.load(ordering: .relaxed) }) != now {
            // Order: the position is cleared first, so that it never appears with another epoch than its own.
            page.longWord(Self.acknowledged) { $0.store(0, ordering: .sequentiallyConsistent) }
            page.word(Self.epoch) { $0.store(now, ordering: .sequentiallyConsistent) }
        }
        page.longWord(Self.acknowledged) { $0.store(end.position.rawValue, ordering: .sequentiallyConsistent) }
    }

    /// Acknowledges LMDB's end: LMDB holds everything.
    func acknowledgeLMDB() { page.longWord(Self.acknowledged) { $0.store(0, ordering: .sequentiallyConsistent) } }

    /// A visible commit with another number may not be durable: the process that made it may have been killed before its sync.
    var durableTransaction: UInt64 {
        get { page.longWord(Self.durable) { $0.load(ordering: .acquiring) } }
        nonmutating set { page.longWord(Self.durable) { $0.store(newValue, ordering: .releasing) } }
    }

    var isOpen: Bool {
        get { page.word(Self.open) { $0.load(ordering: .acquiring) } != 0 }
        nonmutating set { page.word(Self.open) { $0.store(newValue ? 1 : 0, ordering: .releasing) } }
    }

    var hasFailed: Bool { areValid && page.word(Self.failed) { $0.load(ordering: .acquiring) } != 0 }

    /// - Throws: `EvstoreError.ioFailure` once a sync has failed.
    func requireSound() throws {
        if !hasFailed { return }
        throw EvstoreError.ioFailure(
            doing: "appending", reason: "the disk has failed; close the store in every process and open it again")
    }

    func fail() { page.word(Self.failed) { $0.store(1, ordering: .sequentiallyConsistent) } }
}
