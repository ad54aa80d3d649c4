internal import Bytes

/// A range of row keys in bytewise order, from a lower bound (inclusive) to an upper bound (exclusive).
package struct KeyRange: Hashable, Sendable {
    /// The lower bound; empty if the range begins with the first key.
    private(set) var lower: [UInt8]
    /// The upper bound; nil if the range has no end.
    private(set) var upper: [UInt8]?

    package static let all = KeyRange()

    /// The keys that begin with `prefix`, are at or after `from`, and are before `to`.
    package init(prefix: String? = nil, from: String? = nil, to: String? = nil) {
        let prefix = Array((prefix ?? "").utf8)
        let (from, to) = (Array((from ?? "").utf8), to.map { Array($0.utf8) })
        lower = Self.cut(from.lexicographicallyPrecedes(prefix) ? prefix : from)
        let ends = [Self.end(ofPrefix: prefix), to.map(Self.cut)].compactMap(\.self)
        upper = ends.min { $0.lexicographicallyPrecedes($1) }
    }

    /// A range with bounds that are already truncated.
    init(lower: [UInt8], upper: [UInt8]?) { (self.lower, self.upper) = (lower, upper) }

    /// Removes a key and all keys before it; if the range is walked backwards, removes the key and all keys after it.
    package mutating func leave(_ key: [UInt8], backwards: Bool) {
        if backwards {
            if upper.map({ key.lexicographicallyPrecedes($0) }) ?? true { upper = key }
        } else if !key.lexicographicallyPrecedes(lower) {
            lower = key + [0]
        }
    }

    /// Whether no key can be in the range.
    var isEmpty: Bool { upper.map { !lower.lexicographicallyPrecedes($0) } ?? false }

    /// Whether a key is at or after the lower bound, and before the upper bound.
    func begins(atOrBefore key: RawSpan) -> Bool { key.compare(lower.lent) >= 0 }
    func ends(behind key: RawSpan) -> Bool { upper.map { key.compare($0.lent) < 0 } ?? true }

    /// The maximum length of a key in LMDB.
    package static let keyBytesMax = 511

    /// A truncated bound that separates valid keys like the original one: no key is long enough to begin with a longer bound.
    private static func cut(_ bound: [UInt8]) -> [UInt8] {
        bound.count > keyBytesMax ? bound.prefix(keyBytesMax) + [0] : bound
    }

    /// The smallest bound after all texts with a prefix; nil if there is none. UTF-8 contains no byte 255.
    private static func end(ofPrefix prefix: [UInt8]) -> [UInt8]? {
        guard let last = prefix.last else { return nil }
        return cut(prefix.dropLast() + [last + 1])
    }
}
