internal import Bytes
internal import EventLog
internal import EventModel
internal import Hashing
internal import LMDB
internal import System

/// Which of the blocks that were found were the log: those that later ones link to, from its end backwards.
///
/// Old pages still hold what a cut took off and what was never committed. A block that the log's newest commit, its anchor or
/// `log/ahead` names was in it, and so was whatever it links to. Of what came after, the last commit is in doubt: its blocks
/// say nothing about each other. Below a gap goes on what has the highest position, unless it is known to be left over.
struct FoundLog {
    /// Ascending, and without overlaps.
    private(set) var blocks: [FoundBlock] = []
    /// Ascending: nobody says whether they were committed.
    private(set) var unconfirmed: [FoundBlock] = []
    private(set) var gaps: [ClosedRange<UInt64>] = []
    /// Where each epoch that has blocks cut off the one before, as the blocks' links prove it.
    private(set) var cuts: [(epoch: Epoch, at: Position, link: Digest)] = []
    /// Whether the first block links to the store's id.
    private(set) var hasRoot = false
    /// The last position that anything tells of.
    private(set) var end = Position.start

    /// As many predecessors of a block are tried: a log has few, and a file that is made to keep us busy may have any number.
    private static let rivalsMax = 64

    private let all: [FoundBlock]
    private let storeID: StoreID?
    private let remains: LogRemains
    private let read: (FoundBlock) throws -> [UInt8]
    private var byLast: [Position: [Int]] = [:]
    private let falling: [Int]
    private var next = 0
    private var aside: [Int] = []
    private var contradictions: [Int: Bool] = [:]
    private let knownCuts: [Epoch: Position]

    /// - Parameters:
    ///   - found: blocks of one store.
    ///   - read: a block's bytes.
    init(_ found: [FoundBlock], _ storeID: StoreID?, _ remains: LogRemains, read: @escaping (FoundBlock) throws -> [UInt8]) {
        (self.storeID, self.remains, self.read) = (storeID, remains, read)
        // LMDB leaves copies: one that lies where it belongs, in use if any is, stands for all.
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
        falling = all.indices.sorted {
            (all[$0].last, all[$0].epoch, all[$0].time, all[$0].offset) > (all[$1].last, all[$1].epoch, all[$1].time, all[$1].offset)
        }
        var known: [Epoch: Position] = [:]
        for (key, row) in remains.rows["epochs"] ?? [:] where key.count == 4 && row.count == 40 {
            known[Epoch(key.lent.load(UInt32.self, at: 0).byteSwapped)] = Position(row.lent.load(UInt64.self, at: 0))
        }
        knownCuts = known
        for index in falling { byLast[all[index].last, default: []].append(index) }
    }

    private struct Copy: Hashable {
        let first: Position
        let link: FoundBlock.Link
    }

    private static func rank(_ block: FoundBlock, _ remains: LogRemains) -> Int {
        if block.file == .ahead { return 1 }
        return (block.isPlaced ? 2 : 0) + (remains.isFree(block) ? 0 : 4) + (remains.entries[block.offset] == nil ? 0 : 8)
    }

    /// Leaves out blocks: their positions become gaps.
    mutating func leave(_ closed: Set<FoundBlock>) {
        if closed.isEmpty { return }
        let left = blocks.filter { closed.contains($0) }.map { $0.first.rawValue ... $0.last.rawValue }
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
            if block.last.next < below { gaps.append(block.last.next.rawValue ... below.rawValue - 1) }
            blocks.append(block)
            (below, epoch) = (block.first, block.epoch)
            if blocks.count % 64 == 1 { try progress(end.rawValue - below.rawValue, end.rawValue) }
            if block.first == Position(1) {
                hasRoot = try isRoot(block)
                break
            }
            current = try parent(of: block) ?? leftBelow(below, epoch)
        }
        if below > Position(1) { gaps.append(1 ... below.rawValue - 1) }
        blocks.reverse()
        gaps.reverse()
        cuts.reverse()
        keepUnconfirmed()
    }

    /// The block that the log ends with. What came after the last commit that is vouched for is set aside.
    private mutating func tip(_ claim: LogRemains.Claim?) throws -> Int? {
        let named = claim.flatMap { claim in byLast[claim.last]?.first { all[$0].link == claim.link } }
        if remains.isCertain {
            // Whatever lies beyond was not committed.
            if let named, let claim { aside += followers(of: named, before: claim.epoch) }
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
        // The newest commit of which nobody says that it was made.
        let time = all[current].time
        while all[current].time == time, current != named {
            aside.append(current)
            guard let before = try parent(of: all[current]) else {
                return leftBelow(all[current].first, all[current].epoch)
            }
            current = before
        }
        return current
    }

    /// Blocks of the same life that lie beyond one: at most one commit, or what is left of some that were never made.
    private func followers(of index: Int, before epoch: Epoch) -> [Int] {
        let block = all[index]
        return falling.filter { all[$0].first > block.last && all[$0].epoch == block.epoch && !isDiscarded(all[$0], before: epoch) }
    }

    /// Whether a block takes the place of one that was committed, or goes back to such a one. Known for all on the way then.
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

    /// The block that a block links to.
    private mutating func parent(of block: FoundBlock) throws -> Int? {
        guard block.first > Position(1), let rivals = byLast[Position(block.first.rawValue - 1)] else { return nil }
        let bytes = try read(block)
        for index in rivals.prefix(Self.rivalsMax) where all[index].epoch <= block.epoch {
            let before = all[index]
            let link = before.link.digest
            let start = before.epoch == block.epoch ? link : Epochs.link(block.epoch, cut: before.last, link: link)
            if BlockDraft.link(after: start, Self.body(bytes)) == block.link.digest || !Guard.salvageLink.isOn {
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
        if BlockDraft.link(after: genesis, Self.body(bytes)) == block.link.digest { return true }
        let start = Epochs.link(block.epoch, cut: .start, link: genesis)
        guard block.epoch > .first, BlockDraft.link(after: start, Self.body(bytes)) == block.link.digest else { return false }
        note(block.epoch, cut: .start, genesis)
        return true
    }

    @_lifetime(borrow bytes)
    private static func body(_ bytes: [UInt8]) -> RawSpan { bytes.lent.slice(0, BlockLayout.bodyEnd(bytes.lent)) }

    // MARK: Below a gap

    /// What the log went on with below a gap. What may be left over from another life is set aside.
    private mutating func leftBelow(_ position: Position, _ epoch: Epoch) -> Int? {
        var lowestDoubt = Position(.max)
        while next < falling.count {
            let index = falling[next]
            next += 1
            let block = all[index]
            guard block.last < position, !isDiscarded(block, before: epoch) else { continue }
            if isNamed(block) { return index }
            aside.append(index)
            // It ends where the next block begins, which links to another one.
            guard block.epoch <= epoch, block.isPlaced, block.last.next < position, !isLeftOver(block) else { continue }
            let hasRival = lowestDoubt <= block.last || hasRival(block, before: epoch)
            if !hasRival, block.epoch == epoch || remains.hasAllEpochs {
                aside.removeLast()
                return index
            }
            lowestDoubt = min(lowestDoubt, block.first)
        }
        return nil
    }

    private func isNamed(_ block: FoundBlock) -> Bool {
        block.file == .data && remains.entries[block.offset] == block.first.rawValue
    }

    /// Whether the newest commit has no use for the page that it lies in, or has other blocks in its place.
    private func isLeftOver(_ block: FoundBlock) -> Bool {
        remains.hasBothCommits && (remains.isFree(block) || remains.isUnknown(block))
    }

    /// Whether another one has a place in the same positions: neither is known to be the right one then.
    private func hasRival(_ block: FoundBlock, before epoch: Epoch) -> Bool {
        for index in falling[next...].prefix(Self.rivalsMax) {
            let rival = all[index]
            if rival.last < block.first { return false }
            if rival.epoch >= block.epoch, !isDiscarded(rival, before: epoch), !isLeftOver(rival) { return true }
        }
        return false
    }

    /// Whether a cut that is known took it off.
    private func isDiscarded(_ block: FoundBlock, before epoch: Epoch) -> Bool {
        knownCuts.contains { $0.key > block.epoch && $0.key <= epoch && $0.value < block.last }
            || cuts.contains { $0.epoch > block.epoch && $0.at < block.last }
    }

    /// What was set aside and has no place in the log.
    private mutating func keepUnconfirmed() {
        var kept: [FoundBlock] = []
        for block in Set(aside).map({ all[$0] }) where !overlaps(block) { kept.append(block) }
        unconfirmed = kept.sorted { ($0.first, $0.epoch, $0.offset) < ($1.first, $1.epoch, $1.offset) }
    }

    private func overlaps(_ block: FoundBlock) -> Bool {
        var (low, high) = (0, blocks.count)
        while low < high {
            let middle = (low + high) / 2
            if blocks[middle].last < block.first { low = middle + 1 } else { high = middle }
        }
        return low < blocks.count && blocks[low].first <= block.last
    }
}
