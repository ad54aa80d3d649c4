internal import Foundation

/// What processes did to their disk, in the order in which they did it, as `Faults/disk.c` has written it down.
package struct Recording {
    package enum Call {
        /// A slow write that is durable when it returns has a number, and is only written until then.
        case write(inode: UInt64, offset: Int, bytes: [UInt8], isDurable: Bool, number: Int)
        case lasting(inode: UInt64, number: Int)
        /// A slow sync begins before it is done: what is written meanwhile is none of its business. Others have the number 0.
        case begun(inode: UInt64, number: Int)
        case sync(inode: UInt64, number: Int)
        case failed(inode: UInt64, number: Int)
        case rename(from: String, to: String)
        /// `atLeast` is room that was reserved, which never makes a file shorter.
        case size(inode: UInt64, bytes: Int, atLeast: Bool)
        case create(inode: UInt64, path: String)
        case makeDirectory(inode: UInt64, path: String)
        case remove(path: String)
        case link(from: String, to: String)
        case promise(Promise)
    }

    package private(set) var calls: [Call] = []

    package init(_ file: String) throws {
        let log = [UInt8](try Data(contentsOf: URL(filePath: file)))
        var at = 0
        while at < log.count {
            guard log.count - at >= 32 else { throw Failure("the recording \(file) ends within a record") }
            let (kind, count) = (Self.number(log, at, 4), Self.number(log, at + 4, 4))
            let (inode, offset) = (UInt64(Self.number(log, at + 8, 8)), Self.number(log, at + 16, 8))
            let (pathBytes, otherBytes) = (Self.number(log, at + 24, 4), Self.number(log, at + 28, 4))
            at += 32
            guard log.count - at >= pathBytes + otherBytes + count else { throw Failure("the recording \(file) ends within a record") }
            let path = String(decoding: log[at ..< at + pathBytes], as: UTF8.self)
            let other = String(decoding: log[at + pathBytes ..< at + pathBytes + otherBytes], as: UTF8.self)
            at += pathBytes + otherBytes
            let bytes = Array(log[at ..< at + count])
            at += count
            switch kind {
            case 1, 2:
                calls.append(.write(inode: inode, offset: offset, bytes: bytes, isDurable: kind == 2, number: Int(other) ?? 0))
            case 3: calls.append(.sync(inode: inode, number: offset))
            case 4: calls.append(.rename(from: path, to: other))
            case 5: calls.append(.size(inode: inode, bytes: offset, atLeast: other == "+"))
            case 6:
                for line in String(decoding: bytes, as: UTF8.self).split(separator: "\n") where !Refusal.isOne(line) {
                    calls.append(.promise(try Promise(line)))
                }
            case 7: calls.append(.create(inode: inode, path: path))
            case 8: calls.append(.makeDirectory(inode: inode, path: path))
            case 9: calls.append(.remove(path: path))
            case 10: calls.append(.begun(inode: inode, number: offset))
            case 11: calls.append(.failed(inode: inode, number: offset))
            case 12: calls.append(.lasting(inode: inode, number: offset))
            case 13: calls.append(.link(from: path, to: other))
            default: throw Failure("the recording \(file) holds a call of kind \(kind)")
            }
        }
    }

    private static func number(_ log: [UInt8], _ at: Int, _ count: Int) -> Int {
        log[at ..< at + count].reversed().reduce(0) { $0 << 8 | Int($1) }
    }
}
