import EvstoreTesting
import Foundation
import Testing

/// What a process of ours did to its files, written down by `Faults/record.c`.
struct Recording {
    enum Call {
        case write(inode: UInt64, path: String, offset: Int, bytes: Data, isDurable: Bool)
        case sync(inode: UInt64)
        case rename(inode: UInt64, from: String, to: String)
        case size(inode: UInt64, path: String, bytes: Int)
        case promise(Promise)
    }

    /// An append that has returned: `count` events with the numbers from `mark` on, at `position` and after it.
    struct Promise {
        let position: Int
        let mark: Int
        let count: Int

        init(_ line: some StringProtocol) throws {
            let words = line.split(separator: " ").compactMap { Int($0) }
            try #require(words.count == 3)
            (position, mark, count) = (words[0], words[1], words[2])
        }
    }

    private(set) var calls: [Call] = []

    /// The library that writes it down, built once.
    static let library: Result<String, any Error> = Result { try Fault.build("record") }

    init(_ file: URL) throws {
        let log = try Data(contentsOf: file, options: .alwaysMapped)
        func number<T: FixedWidthInteger>(_ at: Int, _ type: T.Type) -> Int {
            Int((0 ..< T.bitWidth / 8).reduce(T(0)) { $0 | T(log[at + $1]) << T(8 * $1) })
        }
        var at = 0
        while at < log.count {
            let (kind, count) = (number(at, UInt32.self), number(at + 4, UInt32.self))
            let (inode, offset) = (UInt64(number(at + 8, UInt64.self)), number(at + 16, UInt64.self))
            let (pathBytes, otherBytes) = (number(at + 24, UInt32.self), number(at + 28, UInt32.self))
            at += 32
            let path = String(decoding: log[at ..< at + pathBytes], as: UTF8.self)
            let other = String(decoding: log[at + pathBytes ..< at + pathBytes + otherBytes], as: UTF8.self)
            at += pathBytes + otherBytes
            let bytes = log[at ..< at + (kind == 1 || kind == 2 || kind == 6 ? count : 0)]
            at += bytes.count
            switch kind {
            case 1, 2: calls.append(.write(inode: inode, path: path, offset: offset, bytes: Data(bytes), isDurable: kind == 2))
            case 3: calls.append(.sync(inode: inode))
            case 4: calls.append(.rename(inode: inode, from: path, to: other))
            case 5: calls.append(.size(inode: inode, path: path, bytes: offset))
            default:
                for line in String(decoding: bytes, as: UTF8.self).split(separator: "\n") { calls.append(.promise(try Promise(line))) }
            }
        }
    }
}

/// What a disk may hold after a power cut: everything that was synced, and of the rest whatever chance has taken.
struct CrashState {
    private struct Contents {
        var durable: Data
        var pending: [(offset: Int, bytes: Data)] = []

        mutating func settle() {
            for write in pending { durable.put(write.bytes, at: write.offset) }
            pending.removeAll()
        }
    }

    private var files: [UInt64: Contents] = [:]
    private var names: [String: UInt64] = [:]
    private var renames: [(inode: UInt64, from: String, to: String)] = []
    private(set) var promises: [Recording.Promise] = []

    /// - Parameter directory: as it was before the recording; every file in it is durable.
    init(_ directory: URL) throws {
        let paths = try FileManager.default.subpathsOfDirectory(atPath: directory.path)
        for path in paths {
            let file = directory.appending(path: path)
            let attributes = try FileManager.default.attributesOfItem(atPath: file.path)
            guard attributes[.type] as? FileAttributeType == .typeRegular, !path.hasSuffix("lock.mdb"),
                let inode = (attributes[.systemFileNumber] as? NSNumber)?.uint64Value
            else { continue }
            files[inode] = Contents(durable: try Data(contentsOf: file))
            names["/" + path] = inode
        }
    }

    mutating func take(_ call: Recording.Call) {
        switch call {
        case .write(let inode, let path, let offset, let bytes, let isDurable):
            if names[path] == nil, files[inode] == nil { names[path] = inode }
            if isDurable {
                files[inode, default: Contents(durable: Data())].durable.put(bytes, at: offset)
            } else {
                files[inode, default: Contents(durable: Data())].pending.append((offset, bytes))
            }
        case .sync(let inode):
            // A sync of a directory has no file; it makes the names durable.
            if files[inode] == nil { settleNames(renames.count) } else { files[inode]?.settle() }
        case .rename(let inode, let from, let to): renames.append((inode, from, to))
        case .size(let inode, _, let bytes):
            guard let count = files[inode]?.durable.count, bytes > count else { return }
            files[inode]?.pending.append((bytes - 1, Data(count: 0)))
        case .promise(let promise): promises.append(promise)
        }
    }

    private mutating func settleNames(_ count: Int) {
        for rename in renames.prefix(count) {
            names[rename.from] = nil
            names[rename.to] = rename.inode
        }
        renames.removeFirst(count)
    }

    /// Writes one of the states that are possible now; sectors have 512 or 4,096 bytes and are whole or not there.
    func write(to directory: URL, _ chance: inout some RandomNumberGenerator) throws {
        var state = self
        state.settleNames(Int.random(in: 0 ... renames.count, using: &chance))
        let sector = Bool.random(using: &chance) ? 512 : 4_096
        let shares: [Double] = [0, 0.2, 0.5, 0.8, 1]
        let share = shares[Int.random(in: 0 ..< shares.count, using: &chance)]
        for (path, inode) in state.names.sorted(by: { $0.key < $1.key }) {
            guard let contents = state.files[inode] else { continue }
            var bytes = contents.durable
            for write in contents.pending {
                var start = 0
                while start < write.bytes.count {
                    let end = min((write.offset + start) / sector * sector + sector - write.offset, write.bytes.count)
                    if Double.random(in: 0 ..< 1, using: &chance) < share {
                        bytes.put(write.bytes[write.bytes.startIndex + start ..< write.bytes.startIndex + end], at: write.offset + start)
                    }
                    start = end
                }
            }
            let file = directory.appending(path: path)
            try FileManager.default.createDirectory(at: file.deletingLastPathComponent(), withIntermediateDirectories: true)
            try bytes.write(to: file)
        }
        for path in try FileManager.default.subpathsOfDirectory(atPath: directory.path) {
            let path = directory.appending(path: path).path
            let isDirectory = try FileManager.default.attributesOfItem(atPath: path)[.type] as? FileAttributeType == .typeDirectory
            try FileManager.default.setAttributes([.posixPermissions: isDirectory ? 0o700 : 0o600], ofItemAtPath: path)
        }
    }
}

extension Data {
    fileprivate mutating func put(_ bytes: Data, at offset: Int) {
        if count < offset + bytes.count { append(Data(count: offset + bytes.count - count)) }
        replaceSubrange(offset ..< offset + bytes.count, with: bytes)
    }
}
