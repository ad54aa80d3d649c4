internal import Bytes
internal import EventModel
internal import Hashing
internal import LMDB
internal import Platform
internal import Synchronization

/// What the processes that have a log open tell each other of what is ahead of LMDB, in the page `log/turn` (`TurnPage`). Only who has the
/// writer's turn stores here, but that a sync has failed.
///
///     64    u64  whose: of the store and its file; of another value, nothing here holds
///     72    u64  the last position that is acknowledged
///     80    u64  the number of LMDB's last transaction that is known to be durable
///     88    u32  the epoch of that position
///     92    u32  1 where the header of `log/ahead` is known to say that entries may follow
///     96    u32  1 once a sync of `log/ahead` has failed: nothing is written until all have closed the store
struct AheadWords: Sendable {
    private static let (whose, acknowledged, durable, epoch, open, failed) = (64, 72, 80, 88, 92, 96)
    private let page: SharedPage
    private let own: UInt64

    init(_ page: SharedPage, _ storeID: StoreID, at store: String) throws(StorageError) {
        self.page = page
        // Not of the boot: what a page says from before it is never ahead of what LMDB has, and not all processes see one boot's id.
        own = checksum(Array("\(storeID) \(try LogFile.status(at: store).inode)".utf8).lent) | 1
    }

    var isWritable: Bool { page.isWritable }

    /// Whether they are of this store and this file.
    var areValid: Bool { page.longWord(Self.whose) { $0.load(ordering: .acquiring) } == own }

    /// Begins anew, with nothing that is known.
    func begin() {
        page.longWord(Self.whose) { $0.store(0, ordering: .sequentiallyConsistent) }
        page.longWord(Self.acknowledged) { $0.store(0, ordering: .relaxed) }
        page.longWord(Self.durable) { $0.store(0, ordering: .relaxed) }
        page.word(Self.open) { $0.store(0, ordering: .relaxed) }
        page.word(Self.failed) { $0.store(0, ordering: .relaxed) }
        page.longWord(Self.whose) { $0.store(own, ordering: .sequentiallyConsistent) }
    }

    /// Up to where events are acknowledged; its `last` is 0 where that is LMDB's end.
    var end: AheadEnd {
        guard areValid else { return AheadEnd(epoch: 0, last: 0) }
        while true {
            let before = page.word(Self.epoch) { $0.load(ordering: .sequentiallyConsistent) }
            let last = page.longWord(Self.acknowledged) { $0.load(ordering: .sequentiallyConsistent) }
            let after = page.word(Self.epoch) { $0.load(ordering: .sequentiallyConsistent) }
            if after == before { return AheadEnd(epoch: before, last: last) }
        }
    }

    /// Acknowledges everything up to a position, which is durable.
    func acknowledge(_ end: Checkpoint) {
        let now = end.epoch.rawValue
        if page.word(Self.epoch, { $0.load(ordering: .relaxed) }) != now {
            // Order: no position stands beside an epoch that is not its own.
            page.longWord(Self.acknowledged) { $0.store(0, ordering: .sequentiallyConsistent) }
            page.word(Self.epoch) { $0.store(now, ordering: .sequentiallyConsistent) }
        }
        page.longWord(Self.acknowledged) { $0.store(end.position.rawValue, ordering: .sequentiallyConsistent) }
    }

    /// Acknowledges what LMDB holds, which is everything.
    func acknowledgeLMDB() { page.longWord(Self.acknowledged) { $0.store(0, ordering: .sequentiallyConsistent) } }

    /// A visible commit of another number may not be durable: whoever made it may have been killed before its sync.
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
