internal import Bytes
internal import EventLog
internal import EventModel
internal import Hashing
internal import LMDB
internal import Platform

/// Chooses which of the found blocks were the log: those that later blocks link to, from the log's end backwards.
///
/// Old pages still hold blocks that a cut has discarded, and blocks that were never committed. A block that the log's newest commit, its
/// anchor or `log/ahead` names was in the log, and so was every block that it links back to. Of the later blocks, those of the last commit
/// are in doubt, since no later commit links to them. Below a gap the log continues with the highest block that is not known to be a
/// leftover.
struct FoundLog {
    /// The log's blocks, ascending and without overlaps.
    private(set) var blocks: [FoundBlock] = []
    /// Blocks that may have been committed or discarded, ascending: there is no proof of either.
    private(set) var unconfirmed: [FoundBlock] = []
    private(set) var gaps: [ClosedRange<UInt64>] = []
    /// Where each epoch with blocks cut off the one before, as proved by the links of blocks.
    private(set) var cuts: [(epoch: Epoch, at: Position, link: Digest)] = []
    /// Whether the first block links to the store's id.
    private(set) var hasRoot = false
    /// The highest position that the log is known to have had.
    private(set) var end = Position.start

    /// How many predecessors of a block are tried: a log has few, but a crafted file may have any number.
    private static let candidatesMax = 64

    private let all: [FoundBlock]
    private let storeID: StoreID?
    private let remains: LogRemains
    private let read: (FoundBlock) throws -> [UInt8]
    private var byLast: [Position: [Int]] = [:]
    private let descending: [Int]
    private var next = 0
    private var setAside: [Int] = []
    private var contradictions: [Int: Bool] = [:]
    private let knownCuts: [Epoch: Position]

    /// - Parameters:
    ///   - found: blocks of one store.
    ///   - read: a block's bytes.
    init(_ found: [FoundBlock], _ storeID: StoreID?, _ remains: LogRemains, read: @escaping (FoundBlock) throws -> [UInt8]) {
        (self.storeID, self.remains, self.read) = (storeID, remains, read)
        // LMDB leaves copies of a block on old pages: the copy with the highest rank is kept.
        var copies: [Copy: FoundBlock] = [:]
        for block in found {
            let copy = Copy(first: block.first, link: block.link)
            guard let known = copies[copy] else {
                copies[copy] = block
                continue
            }
            if Self.rank(block, remains) > Self.rank(known, remains) { copies[copy] = block }
        }
        all = Array(copies.values)
        let all = all
        descending = all.indices.sorted {
            (all[$0].last, all[$0].epoch, all[$0].time, all[$0].offset) > (all[$1].last, all[$1].epoch, all[$1].time, all[$1].offset)
        }
        var known: [Epoch: Position] = [:]
        for (key, row) in remains.rows["epochs"] ?? [:] where key.count == 4 && row.count == 40 {
            known[Epoch(key.lent.load(UInt32.self, at: 0).byteSwapped)] = Position(row.lent.load(UInt64.self, at: 0))
        }
        knownCuts = known
        for index in descending { byLast[all[index].last, default: []].append(index) }
    }

    private struct Copy: Hashable {
        let first: Position
        let link: Digest
    }

    private static func rank(_ block: FoundBlock, _ remains: LogRemains) -> Int {
        if block.file == .ahead { return 1 }
        return (block.isPlaced ? 2 : 0) + (remains.isFree(block) ? 0 : 4) + (remains.entries[block.offset] == nil ? 0 : 8)
    }

    /// Removes blocks: their positions become gaps.
    mutating func leaveOut(_ closed: Set<FoundBlock>) {
        if closed.isEmpty { return }
        let left = blocks.filter { closed.contains($0) }.map { $0.first.through($0.last) }
        blocks.removeAll { closed.contains($0) }
        unconfirmed.removeAll { closed.contains($0) }
        var merged: [ClosedRange<UInt64>] = []
        for gap in (gaps + left).sorted(by: { $0.lowerBound < $1.lowerBound }) {
            if let last = merged.last, last.upperBound + 1 == gap.lowerBound {
                merged[merged.count - 1] = last.lowerBound ... gap.upperBound
            } else {
                merged.append(gap)
            }
        }
        gaps = merged
    }

    // MARK: From the end backwards

    mutating func choose(_ progress: (UInt64, UInt64) throws -> Void) throws {
        let claim = remains.claims(all).max { ($0.epoch, $0.last) < ($1.epoch, $1.last) }
        var current = try tip(claim)
        end = max(claim?.last ?? .start, current.map { all[$0].last } ?? .start)
        var (below, epoch) = (end.next, max(claim?.epoch ?? .first, current.map { all[$0].epoch } ?? .first))
        if current == nil { current = leftBelow(below, epoch) }
        while let index = current {
            let block = all[index]
            if block.last.next < below { gaps.append(block.last.next.through(below.previous)) }
            blocks.append(block)
            (below, epoch) = (block.first, block.epoch)
            if blocks.count % 64 == 1 { try progress(end.events(after: below), end.rawValue) }
            if block.first == Position(1) {
                hasRoot = try isRoot(block)
                break
            }
            current = try parent(of: block) ?? leftBelow(below, epoch)
        }
        if below > Position(1) { gaps.append(Position(1).through(below.previous)) }
        blocks.reverse()
        gaps.reverse()
        cuts.reverse()
        keepUnconfirmed()
    }

    /// The last block of the log. Blocks after the last proven commit are set aside.
    private mutating func tip(_ claim: LogRemains.Claim?) throws -> Int? {
        let named = claim.flatMap { claim in byLast[claim.last]?.first { all[$0].link == claim.link } }
        if remains.isCertain {
            // Nothing after it was committed.
            if let named, let claim { setAside += followers(of: named, before: claim.epoch) }
            return named
        }
        let seen = claim.map { ($0.epoch, $0.last) } ?? (.first, .start)
        let later = all.indices.filter { (all[$0].epoch, all[$0].last) > seen && (all[$0].isPlaced || claim == nil) }
        var last = named
        for index in later.sorted(by: { (all[$0].epoch, all[$0].last, all[$0].time) > (all[$1].epoch, all[$1].last, all[$1].time) }) {
            if try contradicts(index, claim) { continue }
            last = index
            break
        }
        guard var current = last, current != named else { return last }
        // The blocks of the newest commit: nothing proves that it was made.
        let time = all[current].time
        while all[current].time == time, current != named {
            setAside.append(current)
            guard let before = try parent(of: all[current]) else {
                return leftBelow(all[current].first, all[current].epoch)
            }
            current = before
        }
        return current
    }

    /// Blocks of the same epoch after a block: they belong to one commit, or to commits that were never made.
    private func followers(of index: Int, before epoch: Epoch) -> [Int] {
        let block = all[index]
        return descending.filter { all[$0].first > block.last && all[$0].epoch == block.epoch && !isDiscarded(all[$0], before: epoch) }
    }

    /// Whether a block, or one that it links back to, has the positions of another block that was committed. The answer is stored for every
    /// block on the way.
    private mutating func contradicts(_ index: Int, _ claim: LogRemains.Claim?) throws -> Bool {
        guard let claim else { return false }
        var (path, current) = ([index], index)
        var answer = false
        while all[current].epoch == claim.epoch {
            let block = all[current]
            if let known = contradictions[current] {
                answer = known
            } else if block.last == claim.last {
                answer = claim.link != nil && block.link != claim.link
            } else if block.first <= claim.last {
                answer = block.last > claim.last && claim.link != nil
            } else if let before = try parent(of: block) {
                current = before
                path.append(before)
                continue
            }
            break
        }
        for index in path { contradictions[index] = answer }
        return answer
    }

    private mutating func parent(of block: FoundBlock) throws -> Int? {
        guard block.first > Position(1), let candidates = byLast[block.first.previous] else { return nil }
        let bytes = try read(block)
        for index in candidates.prefix(Self.candidatesMax) where all[index].epoch <= block.epoch {
            let before = all[index]
            let link = before.link
            let start = before.epoch == block.epoch ? link : Epochs.link(block.epoch, cut: before.last, link: link)
            if BlockDraft.link(after: start, Self.body(bytes)) == block.link || !Guard.salvageLink.isOn {
                if before.epoch < block.epoch { note(block.epoch, cut: before.last, link) }
                return index
            }
        }
        return nil
    }

    private mutating func note(_ epoch: Epoch, cut: Position, _ link: Digest) {
        if !cuts.contains(where: { $0.epoch == epoch }) { cuts.append((epoch, cut, link)) }
    }

    private mutating func isRoot(_ block: FoundBlock) throws -> Bool {
        guard let storeID else { return false }
        let genesis = Epochs.genesis(storeID)
        let bytes = try read(block)
        if BlockDraft.link(after: genesis, Self.body(bytes)) == block.link { return true }
        let start = Epochs.link(block.epoch, cut: .start, link: genesis)
        guard block.epoch > .first, BlockDraft.link(after: start, Self.body(bytes)) == block.link else { return false }
        note(block.epoch, cut: .start, genesis)
        return true
    }

    @_lifetime(borrow bytes)
    private static func body(_ bytes: [UInt8]) -> RawSpan { bytes.lent.slice(0, BlockLayout.bodyEnd(bytes.lent)) }

    // MARK: Below a gap

    /// The block with which the log continues below a gap. Blocks that may be leftovers of another epoch are set aside.
    private mutating func leftBelow(_ position: Position, _ epoch: Epoch) -> Int? {
        var lowestDoubt = Position(.max)
        while next < descending.count {
            let index = descending[next]
            next += 1
            let block = all[index]
            guard block.last < position, !isDiscarded(block, before: epoch) else { continue }
            if isNamed(block) { return index }
            setAside.append(index)
            // If a block ends where the next one begins, the next one does not link to it, or it would have been chosen.
            guard block.epoch <= epoch, block.isPlaced, block.last.next < position, !isLeftOver(block) else { continue }
            let hasAlternative = lowestDoubt <= block.last || hasAlternative(block, before: epoch)
            if !hasAlternative, block.epoch == epoch || remains.hasAllEpochs {
                setAside.removeLast()
                return index
            }
            lowestDoubt = min(lowestDoubt, block.first)
        }
        return nil
    }

    private func isNamed(_ block: FoundBlock) -> Bool {
        block.file == .data && remains.entries[block.offset] == block.first.rawValue
    }

    /// Whether no tree of the newest commit uses the block's page, or its table has other blocks at the same positions.
    private func isLeftOver(_ block: FoundBlock) -> Bool {
        remains.hasBothCommits && (remains.isFree(block) || remains.isUnknown(block))
    }

    /// Whether another block has some of the same positions, so that it is unknown which of the two was in the log.
    private func hasAlternative(_ block: FoundBlock, before epoch: Epoch) -> Bool {
        for index in descending[next...].prefix(Self.candidatesMax) {
            let other = all[index]
            if other.last < block.first { return false }
            if other.epoch >= block.epoch, !isDiscarded(other, before: epoch), !isLeftOver(other) { return true }
        }
        return false
    }

    /// Whether a known cut has discarded the block.
    private func isDiscarded(_ block: FoundBlock, before epoch: Epoch) -> Bool {
        knownCuts.contains { $0.key > block.epoch && $0.key <= epoch && $0.value < block.last }
            || cuts.contains { $0.epoch > block.epoch && $0.at < block.last }
    }

    /// Keeps the blocks that were set aside and do not overlap a block of the log.
    private mutating func keepUnconfirmed() {
        var kept: [FoundBlock] = []
        for block in Set(setAside).map({ all[$0] }) where !overlaps(block) { kept.append(block) }
        unconfirmed = kept.sorted { ($0.first, $0.epoch, $0.offset) < ($1.first, $1.epoch, $1.offset) }
    }

    private func overlaps(_ block: FoundBlock) -> Bool { blocks.first(endingFrom: block.first).map { $0.first <= block.last } ?? false }
}
