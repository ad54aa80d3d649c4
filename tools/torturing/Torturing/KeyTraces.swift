internal import Foundation
internal import Sealing

/// Every key that processes have laid on a disk to overwrite it there one day, found by what they wrote and not by asking them: those in
/// slots of `subjects`, and those of read models.
package struct KeyTraces {
    private enum Kind { case slots, ofGeneration(String) }

    /// By how they were wrapped: what each was, and the key itself.
    private var keys: [[UInt8]: (name: String, key: [UInt8])] = [:]
    /// Of each store that there was.
    private var rings: [KeyRing] = []

    package init() {}

    package var count: Int { keys.count }

    /// Learns what processes have written since `look` was called last.
    /// - Parameter known: what that has returned.
    package mutating func learn(_ recording: Recording, known: [UInt64: String]) {
        var files = known.compactMapValues(Self.kind)
        for call in recording.calls {
            switch call {
            case .create(let inode, let path): files[inode] = Self.kind(path)
            case .write(let inode, let offset, let bytes, _, _):
                if let kind = files[inode] { learn(kind, bytes, at: offset) }
            default: continue
            }
        }
    }

    /// Learns the keys that lie below a directory now; returns the files of keys by their inodes, and how the keys are wrapped.
    /// - Parameter stores: the stores that there are, each with what opens its keys.
    package mutating func look(
        _ directory: String, keysOf stores: [(path: String, secret: [UInt8])]
    ) throws -> (files: [UInt64: String], alive: Set<[UInt8]>) {
        rings = try stores.compactMap { store in
            guard let key = SecretKey(store.secret) else { return nil }
            return try KeyRing(opening: KeyFile([UInt8](Data(contentsOf: URL(filePath: store.path + "/keys")))), with: .key(key))
        }
        var (files, alive): ([UInt64: String], Set<[UInt8]>) = ([:], [])
        for name in try FileManager.default.subpathsOfDirectory(atPath: directory) {
            let path = directory + "/" + name
            guard let kind = Self.kind(path) else { continue }
            if let inode = try FileManager.default.attributesOfItem(atPath: path)[.systemFileNumber] as? UInt64 { files[inode] = path }
            alive.formUnion(learn(kind, [UInt8](try Data(contentsOf: URL(filePath: path))), at: 0))
        }
        return (files, alive)
    }

    /// What no disk may hold of the keys that are not alive any more, each with its name: the key itself, and parts of how it was wrapped.
    package func gone(but alive: Set<[UInt8]>) -> [(name: String, bytes: [UInt8])] {
        keys.filter { !alive.contains($0.key) }.flatMap { wrapped, found in
            [("\(found.name) itself", found.key)]
                + stride(from: 0, to: 48, by: 16).map { ("\(found.name), bytes \($0) on of it wrapped", Array(wrapped[$0 ..< $0 + 16])) }
        }
    }

    private static func kind(_ path: String) -> Kind? {
        let names = path.split(separator: "/")
        switch names.last {
        case "subjects": return .slots
        case "key" where names.count > 2:
            let generation = names[names.count - 2]
            return .ofGeneration(String(generation.hasPrefix("new-") ? generation.dropFirst(4) : generation))
        default: return nil
        }
    }

    @discardableResult
    private mutating func learn(_ kind: Kind, _ bytes: [UInt8], at offset: Int) -> Set<[UInt8]> {
        var found: Set<[UInt8]> = []
        switch kind {
        case .slots:
            for start in stride(from: 0, through: bytes.count - 128, by: 128) where offset + start >= 128 && bytes[start] == 1 {
                let (number, slot) = ((offset + start) / 128, Array(bytes[start ..< start + 128]))
                for ring in rings {
                    // What is not whole yet, or another store's, opens nothing.
                    do {
                        guard let key = try ring.key(of: SubjectSlot(UInt32(number), slot)) else { continue }
                        note(Array(slot[24 ..< 88]), "slot \(number)", key.key, in: &found)
                    } catch { continue }
                }
            }
        case .ofGeneration(let name):
            guard offset == 0, bytes.count >= 80 else { return [] }
            let wrapped = Array(bytes[16 ..< 80])
            for ring in rings {
                do {
                    note(
                        wrapped, "the key of \(name)", try ring.unwrap(wrapped, for: "generations", ring.file.storeID + Array(name.utf8)),
                        in: &found)
                } catch { continue }
            }
        }
        return found
    }

    private mutating func note(_ wrapped: [UInt8], _ name: String, _ key: SecretKey, in found: inout Set<[UInt8]>) {
        keys[wrapped] = (name, key.bytes)
        found.insert(wrapped)
    }
}

/// A file that is searched for bytes, the parts of it that hold something.
package enum RawScan {
    private static let (chunk, overlap) = (1 << 20, 64)

    /// Where each of some bytes, at most 64, are found first; with how many bytes were searched.
    package static func find(_ wanted: [(name: String, bytes: [UInt8])], in path: String) throws -> (found: [String: Int], bytes: Int) {
        let file = unsafe open(path, O_RDONLY | O_CLOEXEC)
        guard file >= 0 else { throw Failure("\(path) can't be read: \(errno)") }
        defer { close(file) }
        var (found, searched, at) = ([String: Int](), 0, 0)
        var buffer = [UInt8](repeating: 0, count: chunk + overlap)
        // SEEK_DATA, as <unistd.h> has it.
        while case let start = lseek(file, off_t(at), 3), start >= 0 {
            let count = unsafe pread(file, &buffer, buffer.count, start)
            guard count > 0 else { break }
            let bytes = SparseFile.isEmpty(buffer, count) ? [] : Array(buffer[..<count])
            searched += bytes.count
            for (name, pattern) in wanted where found[name] == nil {
                if let place = bytes.places(of: pattern).first { found[name] = Int(start) + place }
            }
            at = Int(start) + chunk
        }
        return (found, searched)
    }
}
