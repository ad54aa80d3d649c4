/// What a disk may hold of one file: what is durable, and changes on the way there.
struct FileState {
    fileprivate struct Change {
        enum Deed {
            case bytes([UInt8], at: Int)
            case size(Int, atLeast: Bool)
        }

        var deed: Deed
        var moment: Int
        /// Of a slow write that is durable when it returns; else 0.
        var number = 0
        /// Durable, with others before it that may not be.
        var isCertain = false
        /// A sync of it has failed: the system takes it for written, and no later sync writes it.
        var isDropped = false
    }

    private static let pageBytes = 4_096
    private var durable: [UInt8]
    private var pending: [Change] = []

    init(durable: [UInt8] = []) { self.durable = durable }

    mutating func write(_ bytes: [UInt8], at offset: Int, _ moment: Int, isDurable: Bool, number: Int) {
        // Whoever writes a part of a page has the whole page written.
        let pages = offset / Self.pageBytes ... max(offset, offset + bytes.count - 1) / Self.pageBytes
        for index in pending.indices where pending[index].isDropped {
            guard case .bytes(_, let start) = pending[index].deed, pages.contains(start / Self.pageBytes) else { continue }
            (pending[index].isDropped, pending[index].moment) = (false, moment)
        }
        pending.append(Change(deed: .bytes(bytes, at: offset), moment: moment, number: number, isCertain: isDurable))
        if isDurable { settleFirst() }
    }

    mutating func resize(to size: Int, atLeast: Bool, _ moment: Int) {
        pending.append(Change(deed: .size(size, atLeast: atLeast), moment: moment))
    }

    /// A slow write is durable.
    mutating func settle(number: Int) {
        for index in pending.indices where pending[index].number == number { pending[index].isCertain = true }
        settleFirst()
    }

    /// A sync that began at a moment is done.
    mutating func settle(before end: Int) {
        for index in pending.indices where pending[index].moment < end && !pending[index].isDropped { pending[index].isCertain = true }
        settleFirst()
    }

    /// A sync that began at a moment has failed.
    mutating func drop(before end: Int) {
        var changes: [Change] = []
        for change in pending {
            guard change.moment < end, !change.isCertain, case .bytes(let bytes, let offset) = change.deed else {
                changes.append(change)
                continue
            }
            var start = 0
            while start < bytes.count {
                let next = min(((offset + start) / Self.pageBytes + 1) * Self.pageBytes - offset, bytes.count)
                var part = change
                (part.deed, part.isDropped) = (.bytes(Array(bytes[start ..< next]), at: offset + start), true)
                changes.append(part)
                start = next
            }
        }
        pending = changes
    }

    private mutating func settleFirst() {
        let count = pending.prefix { $0.isCertain }.count
        for change in pending.prefix(count) { durable.take(change.deed) }
        pending.removeFirst(count)
    }

    /// What is there whatever chance takes.
    var least: [UInt8] {
        var bytes = durable
        for change in pending where change.isCertain { bytes.take(change.deed) }
        return bytes
    }

    /// What may be there: a share of the sectors that were written, and of the changes of size.
    func draw(sector: Int, share: Double, _ chance: inout some RandomNumberGenerator) -> [UInt8] {
        var bytes = durable
        for change in pending {
            guard case .bytes(let written, let offset) = change.deed, !change.isCertain else {
                if change.isCertain || Double.random(in: 0 ..< 1, using: &chance) < share { bytes.take(change.deed) }
                continue
            }
            var start = 0
            while start < written.count {
                let end = min((offset + start) / sector * sector + sector - offset, written.count)
                if Double.random(in: 0 ..< 1, using: &chance) < share { bytes.put(written, start ..< end, at: offset + start) }
                start = end
            }
        }
        return bytes
    }
}

extension [UInt8] {
    fileprivate mutating func take(_ deed: FileState.Change.Deed) {
        switch deed {
        case .bytes(let bytes, let offset): put(bytes, bytes.indices, at: offset)
        case .size(let size, let atLeast):
            grow(to: size)
            if size < count, !atLeast { removeLast(count - size) }
        }
    }
}
