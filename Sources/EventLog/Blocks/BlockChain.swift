internal import EventModel
internal import Hashing
internal import LMDB
internal import Platform

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
        /// The link of the block that was completed last.
        var link = Digest.zero
        /// Why a block could not be completed.
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

    /// Ends the thread.
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
