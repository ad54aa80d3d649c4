internal import Bytes
internal import Foundation
internal import Hashing

/// What a disk may hold after a power cut: everything that was synced, and of the rest whatever chance has taken. A name is
/// durable when its directory was synced, the bytes of a file when the file was.
package struct CrashState {
    private var contents: [Int: FileState] = [:]
    /// Counts what was done: a sync is of what came before it began.
    private var moment = 0
    /// When each slow sync began.
    private var begun: [Int: Int] = [:]

    /// A name that came or went, in a directory. Those of one call belong together.
    private struct Naming {
        var directory: Int
        var name: String
        var node: Int?
    }

    /// Directories as processes see them, and as a power cut would leave them.
    private var live: [Int: [String: Int]] = [0: [:]]
    private var durable: [Int: [String: Int]] = [0: [:]]
    private var pending: [(moment: Int, namings: [Naming])] = []
    /// Inodes are used again; nodes are not.
    private var nodes: [UInt64: Int] = [:]
    private var nextNode = 1
    package private(set) var promises: [Promise] = []

    /// - Parameter directory: as it was before the recording, with everything in it durable.
    /// - Parameter promises: what had been promised before.
    package init(_ directory: String, _ promises: [Promise] = []) throws {
        self.promises = promises
        try take(directory, as: 0)
    }

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
                contents[child] = FileState(durable: [UInt8](try Data(contentsOf: URL(filePath: path))))
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
        moment += 1
        let now = moment
        switch call {
        case .write(let inode, let offset, let bytes, let isDurable, let number):
            guard let node = nodes[inode] else { return }
            change(node) { $0.write(bytes, at: offset, now, isDurable: isDurable, number: number) }
        case .lasting(let inode, let number):
            if let node = nodes[inode] { change(node) { $0.settle(number: number) } }
        case .begun(_, let number): begun[number] = now
        case .sync(let inode, let number):
            guard let node = nodes[inode] else { return }
            let end = begun.removeValue(forKey: number) ?? now
            if live[node] != nil { settleNames(in: node, before: end) } else { change(node) { $0.settle(before: end) } }
        case .failed(let inode, let number):
            // The names of a directory that failed are tried again by the file system.
            let end = begun.removeValue(forKey: number) ?? now
            if let node = nodes[inode] { change(node) { $0.drop(before: end) } }
        case .size(let inode, let bytes, let atLeast):
            if let node = nodes[inode] { change(node) { $0.resize(to: bytes, atLeast: atLeast, now) } }
        case .create(let inode, let path):
            contents[nextNode] = FileState()
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
        case .link(let from, let to):
            let (old, new) = (try place(from), try place(to))
            guard let node = live[old.directory]?[old.name] else { throw Failure("\(from) got a second name and is not there") }
            note([Naming(directory: new.directory, name: new.name, node: node)])
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
        pending.append((moment, namings))
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

    /// In its place: a copy of a large file for each call takes most of a trial's time.
    private mutating func change(_ node: Int, _ body: (inout FileState) -> Void) {
        guard var file = contents.removeValue(forKey: node) else { return }
        body(&file)
        contents[node] = file
    }

    private mutating func settleNames(in directory: Int, before end: Int) {
        let isDone = { (item: (moment: Int, namings: [Naming])) in
            item.moment < end && item.namings.contains { $0.directory == directory }
        }
        for item in pending where isDone(item) { settle(item.namings) }
        pending.removeAll(where: isDone)
    }

    private mutating func settle(_ namings: [Naming]) { for naming in namings { durable[naming.directory]?[naming.name] = naming.node } }

    /// The state that holds no more than what was synced.
    package var least: DrawnState {
        var drawn = DrawnState()
        collect(0, "", durable, &drawn) { contents[$0]?.least ?? [] }
        return drawn
    }

    /// One of the states that are possible now; sectors have 512 or 4,096 bytes and are whole or not there.
    package func draw(_ chance: inout some RandomNumberGenerator) -> DrawnState {
        var names = durable
        for item in pending.prefix(Int.random(in: 0 ... pending.count, using: &chance)) {
            for naming in item.namings { names[naming.directory]?[naming.name] = naming.node }
        }
        let sector = Bool.random(using: &chance) ? 512 : 4_096
        let shares: [Double] = [0, 0.2, 0.5, 0.8, 1]
        let share = shares[Int.random(in: 0 ..< shares.count, using: &chance)]
        var drawn = DrawnState()
        collect(0, "", names, &drawn) { contents[$0]?.draw(sector: sector, share: share, &chance) ?? [] }
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
