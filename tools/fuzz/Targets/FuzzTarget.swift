import Foundation

/// A room's door for bytes from outside, and what must hold of bytes that it takes. libFuzzer looks for bytes that end the process,
/// hang, or break that.
struct FuzzTarget: Sendable {
    let name: String
    /// What the search begins with.
    let seeds: @Sendable () throws -> [[UInt8]]
    /// Every error but `Broken` is a refusal.
    let take: @Sendable ([UInt8]) throws -> Void

    static let all: [FuzzTarget] = [structure, block, json, splice, version, frames, keys, envelope]

    /// Files that a target needs lie here; in memory where the machine has it.
    static let place: String = {
        let root = FileManager.default.isWritableFile(atPath: "/dev/shm") ? "/dev/shm" : FileManager.default.temporaryDirectory.path
        let path = root + "/evstore-libfuzzer-\(getpid())"
        do { try FileManager.default.createDirectory(atPath: path, withIntermediateDirectories: true) } catch { fatalError("\(error)") }
        return path
    }()
}

/// Bytes were taken, and something does not hold of them.
struct Broken: Error, CustomStringConvertible {
    let description: String
}

func hold(_ condition: Bool, _ what: @autoclosure () -> String) throws(Broken) {
    if !condition { throw Broken(description: what()) }
}

extension [UInt8] {
    func number<T: FixedWidthInteger>(_ type: T.Type, at offset: Int) -> T {
        (0 ..< T.bitWidth / 8).reduce(0) { $0 | T(truncatingIfNeeded: self[offset + $1]) << T(8 * $1) }
    }

    mutating func put<T: FixedWidthInteger>(_ value: T, at offset: Int) {
        for byte in 0 ..< T.bitWidth / 8 { self[offset + byte] = UInt8(truncatingIfNeeded: value >> T(8 * byte)) }
    }
}
