import Bytes
import JSONText

enum SameJSON {
    /// Whether two texts mean the same.
    static func holds(_ a: [UInt8], _ b: [UInt8]) throws -> Bool { try Canonical.bytes(of: a.lent) == Canonical.bytes(of: b.lent) }
}
