internal import Bytes

/// Keys of rows from one on and below another, in the order of their bytes.
package struct KeyRange: Hashable, Sendable {
    /// The first key that may be in it; the first of all where it is empty.
    private(set) var lower: [UInt8]
    /// The first key that is not in it any more; nil where it has no end.
    private(set) var upper: [UInt8]?

    package static let all = KeyRange()

    /// The keys that begin with `prefix`, at or behind `from`, and before `to`.
    package init(prefix: String? = nil, from: String? = nil, to: String? = nil) {
        let prefix = Array((prefix ?? "").utf8)
        let (from, to) = (Array((from ?? "").utf8), to.map { Array($0.utf8) })
        lower = Self.cut(from.lexicographicallyPrecedes(prefix) ? prefix : from)
        let ends = [Self.end(ofPrefix: prefix), to.map(Self.cut)].compactMap(\.self)
        upper = ends.min { $0.lexicographicallyPrecedes($1) }
    }

    /// Keys from one on and before another, as bytes that are cut already.
    init(lower: [UInt8], upper: [UInt8]?) { (self.lower, self.upper) = (lower, upper) }

    /// Takes off a key and all before it; all behind it where the range is gone through backwards.
    package mutating func leave(_ key: [UInt8], backwards: Bool) {
        if backwards {
            if upper.map({ key.lexicographicallyPrecedes($0) }) ?? true { upper = key }
        } else if !key.lexicographicallyPrecedes(lower) {
            lower = key + [0]
        }
    }

    /// Whether no key can be in it.
    var isEmpty: Bool { upper.map { !lower.lexicographicallyPrecedes($0) } ?? false }

    /// Whether a key is behind where the range begins, and before where it ends.
    func begins(atOrBefore key: RawSpan) -> Bool { key.compare(lower.lent) >= 0 }
    func ends(behind key: RawSpan) -> Bool { upper.map { key.compare($0.lent) < 0 } ?? true }

    /// What LMDB takes as a key.
    package static let keyBytesMax = 511

    /// A bound that parts the keys there can be as a longer one does: none of them has a longer one's first bytes and more.
    private static func cut(_ bound: [UInt8]) -> [UInt8] {
        bound.count > keyBytesMax ? bound.prefix(keyBytesMax) + [0] : bound
    }

    /// The first bytes behind all that begin with a prefix; UTF-8 has no byte of 255.
    private static func end(ofPrefix prefix: [UInt8]) -> [UInt8]? {
        guard let last = prefix.last else { return nil }
        return cut(prefix.dropLast() + [last + 1])
    }
}
