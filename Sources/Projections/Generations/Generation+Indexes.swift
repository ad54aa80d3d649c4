internal import Bytes
package import EventModel
internal import LMDB

/// A query on an index: values of its first members, and bounds for the next one, as JSON texts.
package struct IndexRange: Hashable, Sendable {
    let number: Int
    let index: RowIndex
    private let lower, upper: [UInt8]
    /// Where no entry lies, unless an older program has built the generation.
    fileprivate let formerPlaces: [KeyRange]
    /// The entry after which the query continues, in its direction.
    private var after: [UInt8]?
    private let isBackwards: Bool

    /// - Parameters:
    ///   - equal: at most as many values as the index has members.
    ///   - from: the lowest value of the next member; nil for no bound.
    ///   - to: an exclusive upper bound for the next member.
    package init(
        _ indexes: RowIndexes, number: Int, equal: [[UInt8]], from: [UInt8]? = nil, to: [UInt8]? = nil, backwards: Bool = false
    ) {
        (self.number, index, isBackwards) = (number, indexes.list[number], backwards)
        (lower, upper) = RowIndexes.bounds(number, equal: equal, from: from, to: to)
        formerPlaces = RowIndexes.formerPlaces(number, equal, [from, to])
    }

    /// Continues after an entry. Returns false if the entry does not belong to this index.
    package mutating func leave(_ entry: [UInt8]) -> Bool {
        guard entry.first == UInt8(number) else { return false }
        after = entry
        return true
    }

    /// The range of table keys that contains its entries; bounds are truncated like keys.
    var keys: KeyRange {
        var range = KeyRange(lower: RowIndexes.cut(lower), upper: RowIndexes.cutEnd(upper))
        if let after { range.leave(after, backwards: isBackwards) }
        return range
    }

    func holds(_ place: [UInt8]) -> Bool { !place.lexicographicallyPrecedes(lower) && place.lexicographicallyPrecedes(upper) }
}

/// A row found through an index.
package struct IndexedRow: Hashable, Sendable {
    /// The entry's key, from which a query can continue.
    package var entry: [UInt8]
    package var key: [UInt8]
    package var value: [UInt8]
}

extension Generation {
    /// Up to `limit` rows in the order of an index, in one transaction. O(log n + rows returned); O(n) memory and time if it is sealed.
    package func page(
        _ range: IndexRange, _ all: RowIndexes, backwards: Bool, limit: Int
    ) throws(EvstoreError) -> [IndexedRow] {
        try reading { transaction in
            var page: [IndexedRow] = []
            try forEachEntry(range, all, backwards: backwards, transaction) { entry, rowKey in
                guard let value = try rows.get(rowKey.lent, transaction, { [UInt8](copying: $0) }) else {
                    throw note.damaged("the index \(range.index.name) names a row that is not there")
                }
                page.append(IndexedRow(entry: entry, key: rowKey, value: value))
                return page.count < limit
            }
            return page
        }
    }

    /// The number of rows in a range of an index. Reads only entries. O(rows of the range).
    package func count(_ range: IndexRange, _ all: RowIndexes) throws(EvstoreError) -> UInt64 {
        try reading { transaction in
            var count: UInt64 = 0
            try forEachEntry(range, all, backwards: false, transaction) { _, _ in
                count += 1
                return true
            }
            return count
        }
    }

    private func forEachEntry(
        _ range: IndexRange, _ all: RowIndexes, backwards: Bool, _ transaction: borrowing ReadTransaction,
        _ body: (_ entry: [UInt8], _ rowKey: [UInt8]) throws -> Bool
    ) throws {
        func take(_ key: RawSpan, _ text: RawSpan) throws -> Bool {
            guard let content = RowIndexes.content(of: key, text, range.index) else {
                throw note.damaged("an entry of the index \(range.index.name) is malformed")
            }
            return range.holds(content.place) ? try body([UInt8](copying: key), content.rowKey) : true
        }
        if let indexes {
            for place in range.formerPlaces {
                try indexes.forEach(in: place, transaction) { _, _ in
                    throw note.damaged("the index \(range.index.name) has numbers as an older program has written them")
                }
            }
            return try indexes.forEach(in: range.keys, backwards: backwards, transaction, take)
        }
        var entries: [RowIndexes.Entry] = []
        let keys = range.keys
        try rows.forEach(transaction) { key, value in
            let entry = all.entries(key, value)[range.number]
            if keys.begins(atOrBefore: entry.key.lent), keys.ends(behind: entry.key.lent) { entries.append(entry) }
            return true
        }
        entries.sort()
        for entry in backwards ? entries.reversed() : entries where try !take(entry.key.lent, entry.text.lent) { return }
    }

    /// The first inconsistency of the indexes: a row without its entry, or an entry without a row; nil if there is none. O(n log n).
    package func indexFault(_ all: RowIndexes, _ job: Job? = nil) throws(EvstoreError) -> String? {
        guard let indexes, !all.isEmpty else { return nil }
        return try reading { transaction in
            var (found, fault): (UInt64, String?) = (0, nil)
            try rows.forEach(transaction) { key, value in
                for entry in all.entries(key, value) {
                    let text = try indexes.get(entry.key.lent, transaction) { [UInt8](copying: $0) }
                    if text != entry.text {
                        fault = "lacks the entry of the row \(quoted(String(decoding: [UInt8](copying: key), as: UTF8.self)))"
                        return false
                    }
                    found += 1
                }
                if found % 4_096 == 0 { try job?.check() }
                return true
            }
            if fault != nil { return fault }
            let count = try indexes.count(transaction)
            return count == found ? nil : "has \(count) entries, and its rows \(found)"
        }
    }
}
