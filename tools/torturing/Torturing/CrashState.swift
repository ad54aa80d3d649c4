internal import Bytes
internal import Foundation
internal import Hashing

/// What a disk may hold after a power cut: everything that was synced, and of the rest whatever chance has taken. A name is
/// durable when its directory was synced, the bytes of a file when the file was.
package struct CrashState {
    fileprivate enum Change {
        case bytes([UInt8], at: Int)
        /// Durable at once, with others before it that may not be.
        case certain([UInt8], at: Int)
        case size(Int, atLeast: Bool)
    }

    private struct Contents {
        var durable: [UInt8] = []
        var pending: [Change] = []
    }

    /// A name that came or went, in a directory. Those of one call belong together.
    private struct Naming {
        var directory: Int
        var name: String
        var node: Int?
    }

    private var contents: [Int: Contents] = [:]
    /// Directories as processes see them, and as a power cut would leave them.
    private var live: [Int: [String: Int]] = [0: [:]]
    private var durable: [Int: [String: Int]] = [0: [:]]
    private var pending: [[Naming]] = []
    /// Inodes are used again; nodes are not.
    private var nodes: [UInt64: Int] = [:]
    private var nextNode = 1
    package private(set) var promises: [Promise] = []

    /// - Parameter directory: as it was before the recording, with everything in it durable.
    package init(_ directory: String) throws { try take(directory, as: 0) }

    private mutating func take(_ directory: String, as node: Int) throws {
        nodes[try Self.inode(of: directory)] = node
        for name in try FileManager.default.contentsOfDirectory(atPath: directory).sorted() where name != "lock.mdb" && name != "acks" {
            let (path, child) = (directory + "/" + name, nextNode)
            nextNode += 1
            (live[node, default: [:]][name], durable[node, default: [:]][name]) = (child, child)
            var isDirectory: ObjCBool = false
            _ = unsafe FileManager.default.fileExists(atPath: path, isDirectory: &isDirectory)
            if isDirectory.boolValue {
                (live[child], durable[child]) = ([:], [:])
                try take(path, as: child)
            } else {
                nodes[try Self.inode(of: path)] = child
                contents[child] = Contents(durable: [UInt8](try Data(contentsOf: URL(filePath: path))))
            }
        }
    }

    private static func inode(of path: String) throws -> UInt64 {
        guard let number = try FileManager.default.attributesOfItem(atPath: path)[.systemFileNumber] as? NSNumber else {
            throw Failure("\(path) has no inode")
        }
        return number.uint64Value
    }

    package mutating func take(_ call: Recording.Call) throws {
        switch call {
        case .write(let inode, let offset, let bytes, let isDurable):
            guard let node = nodes[inode] else { return }
            if isDurable, contents[node]?.pending.isEmpty == true {
                contents[node]?.durable.put(bytes, bytes.indices, at: offset)
            } else if isDurable {
                contents[node]?.pending.append(.certain(bytes, at: offset))
            } else {
                contents[node]?.pending.append(.bytes(bytes, at: offset))
            }
        case .sync(let inode):
            guard let node = nodes[inode] else { return }
            if live[node] != nil { settleNames(in: node) } else { settle(node) }
        case .size(let inode, let bytes, let atLeast):
            if let node = nodes[inode] { contents[node]?.pending.append(.size(bytes, atLeast: atLeast)) }
        case .create(let inode, let path):
            contents[nextNode] = Contents()
            try name(inode, path)
        case .makeDirectory(let inode, let path):
            (live[nextNode], durable[nextNode]) = ([:], [:])
            try name(inode, path)
        case .rename(let from, let to):
            let (old, new) = (try place(from), try place(to))
            guard let node = live[old.directory]?[old.name] else { throw Failure("\(from) was renamed and is not there") }
            note([
                Naming(directory: old.directory, name: old.name, node: nil), Naming(directory: new.directory, name: new.name, node: node),
            ])
        case .remove(let path):
            let place = try place(path)
            note([Naming(directory: place.directory, name: place.name, node: nil)])
        case .promise(let promise): promises.append(promise)
        }
    }

    private mutating func name(_ inode: UInt64, _ path: String) throws {
        let place = try place(path)
        nodes[inode] = nextNode
        note([Naming(directory: place.directory, name: place.name, node: nextNode)])
        nextNode += 1
    }

    private mutating func note(_ namings: [Naming]) {
        for naming in namings { live[naming.directory]?[naming.name] = naming.node }
        pending.append(namings)
    }

    /// The directory of a path below the root, and the name in it.
    private func place(_ path: String) throws -> (directory: Int, name: String) {
        var names = path.split(separator: "/").map(String.init)
        guard let last = names.popLast() else { throw Failure("\(path) names nothing") }
        var node = 0
        for name in names {
            guard let next = live[node]?[name] else { throw Failure("\(path) is in no directory") }
            node = next
        }
        return (node, last)
    }

    private mutating func settle(_ node: Int) {
        guard var file = contents.removeValue(forKey: node) else { return }
        for change in file.pending { file.durable.take(change) }
        file.pending.removeAll()
        contents[node] = file
    }

    private mutating func settleNames(in directory: Int) {
        for namings in pending where namings.contains(where: { $0.directory == directory }) { settle(namings) }
        pending.removeAll { $0.contains { $0.directory == directory } }
    }

    private mutating func settle(_ namings: [Naming]) { for naming in namings { durable[naming.directory]?[naming.name] = naming.node } }

    /// One of the states that are possible now; sectors have 512 or 4,096 bytes and are whole or not there.
    package func draw(_ chance: inout some RandomNumberGenerator) -> DrawnState {
        var names = durable
        for namings in pending.prefix(Int.random(in: 0 ... pending.count, using: &chance)) {
            for naming in namings { names[naming.directory]?[naming.name] = naming.node }
        }
        let sector = Bool.random(using: &chance) ? 512 : 4_096
        let shares: [Double] = [0, 0.2, 0.5, 0.8, 1]
        let share = shares[Int.random(in: 0 ..< shares.count, using: &chance)]
        var drawn = DrawnState()
        collect(0, "", names, &drawn) { node in
            guard let file = contents[node] else { return [] }
            var bytes = file.durable
            for change in file.pending {
                guard case .bytes(let written, let offset) = change else {
                    if case .certain = change {
                        bytes.take(change)
                    } else if Double.random(in: 0 ..< 1, using: &chance) < share {
                        bytes.take(change)
                    }
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
        return drawn
    }

    private func collect(
        _ node: Int, _ path: String, _ names: [Int: [String: Int]], _ drawn: inout DrawnState, _ bytes: (Int) -> [UInt8]
    ) {
        drawn.take(directory: path)
        for (name, child) in (names[node] ?? [:]).sorted(by: { $0.key < $1.key }) {
            let path = path + "/" + name
            if names[child] != nil { collect(child, path, names, &drawn, bytes) } else { drawn.take(file: path, bytes(child)) }
        }
    }
}

/// A state that was drawn, and does not lie on a disk yet.
package struct DrawnState {
    private var directories: [String] = []
    private var files: [(path: String, bytes: [UInt8])] = []
    /// The same for states that hold the same.
    package private(set) var code: UInt64 = 0

    fileprivate mutating func take(directory: String) {
        directories.append(directory)
        mix(Array(directory.utf8))
    }

    fileprivate mutating func take(file: String, _ bytes: [UInt8]) {
        files.append((file, bytes))
        mix(Array(file.utf8))
        mix(bytes)
    }

    private mutating func mix(_ bytes: [UInt8]) { code = seededHash(bytes.lent, code &+ UInt64(bytes.count)) }

    package func write(to scene: String) throws {
        for directory in directories {
            try FileManager.default.createDirectory(
                atPath: scene + directory, withIntermediateDirectories: true, attributes: [.posixPermissions: 0o700])
        }
        for (path, bytes) in files { try SparseFile.write(bytes, to: scene + path) }
    }
}

extension [UInt8] {
    fileprivate mutating func take(_ change: CrashState.Change) {
        switch change {
        case .bytes(let bytes, let offset), .certain(let bytes, let offset): put(bytes, bytes.indices, at: offset)
        case .size(let size, let atLeast):
            grow(to: size)
            if size < count, !atLeast { removeLast(count - size) }
        }
    }
}
