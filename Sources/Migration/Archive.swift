package import Bytes
package import EventLog
package import EventModel
package import Hashing
internal import JSONText
internal import Platform
package import Projections

/// The events that a cut takes off, as event lines at their birth versions in `<store>/archive/`, each file with a small file of digests
/// beside it; an import brings them back. Nothing deletes an archive. In a store whose events are sealed, the lines are sealed, too
/// (`SealedLine`), under a key of the file's own.
package enum Archive {
    /// Writes the events after `position`, durably. Returns the path.
    ///
    /// Order: the file of digests is written last: an archive that has one is complete. Written again after a kill, it is the same.
    static func write(_ context: MigrationContext, after position: Position, through last: Checkpoint) async throws(EvstoreError) -> String
    {
        // Removes the files of a cut that was interrupted before it was made: the log still has the events.
        let isThere = try converting { try Directory.status("\(context.store)/archive") != nil }
        if context.log.keyFile != nil, isThere {
            let path = path(in: context.store, after: position, through: last)
            try await awaiting { try await SealedLineFile.discard(["\(path).tmp", path], of: context.log) }
        }
        return try writeFiles(context, after: position, through: last)
    }

    /// The path of the archive that holds the events after `position` once a cut has taken them off.
    static func path(in store: String, after position: Position, through last: Checkpoint) -> String {
        Place(directory: "\(store)/archive", after: position, through: last).path
    }

    /// Does the work of `write` for a store that is not sealed, on the calling thread.
    static func writeFiles(_ context: MigrationContext, after position: Position, through last: Checkpoint) throws(EvstoreError) -> String {
        let place = Place(directory: "\(context.store)/archive", after: position, through: last)
        let (directory, name, path) = (place.directory, place.name, place.path)
        try converting(at: context.store) {
            _ = try StoreFiles.directory("archive", of: context.store)
            try Directory.removeFiles(in: directory, overwriting: false) { $0 == "\(name).jsonl.tmp" || $0 == "\(name).tmp" }
            let made = try WholeFile(path, under: "\(path).tmp")
            let digest = try writeLines(of: place, to: made.file, context)
            MigrationPhase.reached(.archiveWritten)
            try made.replace(.contents)
            try writeDigests(of: place, digest, context)
            try Directory.sync(directory)
            try Directory.sync(context.store)
        }
        MigrationPhase.reached(.archiveSynced)
        return path
    }

    private struct Place {
        let directory: String
        let after: Position
        let through: Checkpoint

        var name: String { "epoch-\(through.epoch)-events-\(after.next)-\(through.position)" }
        var path: String { "\(directory)/\(name).jsonl" }
    }

    private static func writeLines(of place: Place, to file: File, _ context: MigrationContext) throws -> Digest {
        let (position, last) = (place.after, place.through.position)
        var hasher = SHA256Hasher()
        var buffer = ByteBuffer(capacity: 1 << 20)
        var (offset, next) = (0, position.next)
        let names = StreamNames(context.log, try context.evolving.current().history)
        let sealer = try context.log.makeLineSealer()
        while next <= last {
            try context.job.check()
            let start = next
            try context.log.read { reader in
                try reader.blocks(from: next) { block in
                    for index in 0 ..< block.count {
                        let record = block.record(index)
                        guard record.position >= next, record.position <= last else { continue }
                        let stream = try names.name(of: record, at: record.born, reader)
                        let line = EventLine(record, context.log.name(ofType: record.type), stream: stream, epoch: block.epoch)
                        try line.write(record, sealedBy: sealer, into: &buffer)
                        next = record.position.next
                    }
                    return buffer.count < 1 << 20 && next <= last
                }
            }
            guard next > start else { throw EvstoreError.corruptBlock(position: next, reason: "there is no such event") }
            hasher.update(buffer.bytes)
            try file.write(buffer.array(), at: offset)
            offset += buffer.count
            buffer.removeAll()
            context.job.report("archive", done: next.previous.events(after: position), total: last.events(after: position))
        }
        return hasher.finalize()
    }

    private static func writeDigests(of place: Place, _ digest: Digest, _ context: MigrationContext) throws {
        let (position, last) = (place.after, place.through)
        let links = try context.log.read { reader in (try reader.link(at: position), try reader.link(at: last.position)) }
        var fields = JSONRow()
        fields.set("file", "\(place.name).jsonl")
        fields.set("sha256", digest.hex)
        fields.set("epoch", UInt64(last.epoch.rawValue))
        fields.set("from", position.next.rawValue)
        fields.set("through", last.position.rawValue)
        fields.set("linkBefore", links.0?.hex)
        fields.set("linkAtEnd", links.1?.hex)
        try write(fields, to: "\(place.directory)/\(place.name).json")
    }

    private static func write(_ fields: JSONRow, to path: String) throws {
        try WholeFile.write(fields.bytes + [UInt8(ascii: "\n")], to: path, under: "\(path).tmp", .contents)
    }

    /// Updates the file of digests, if there is one, after the lines were rewritten.
    package static func setDigest(_ digest: Digest, ofLines path: String) throws {
        let digests = path.hasSuffix(".jsonl") ? String(path.dropLast(1)) : path
        guard try Directory.ownStatus(digests)?.isFile == true else { return }
        var fields = try JSONRow(File(digests, .read).read(digestBytesMax), of: digests)
        fields.replace("sha256", .string(digest.hex))
        try write(fields, to: digests)
    }

    private static let digestBytesMax = 1 << 16
}

extension EventLine {
    package init(_ record: borrowing RecordView, _ type: String, stream: StreamName, epoch: Epoch) {
        self.init(
            stream: stream, type: type, id: record.id, time: record.time, position: record.position, revision: record.revision,
            born: record.born, version: record.born, epoch: epoch)
    }

    /// Writes the line with its line feed.
    package func write(_ record: borrowing RecordView, sealedBy sealer: LineSealer?, into output: inout ByteBuffer) throws(EvstoreError) {
        if let sealer {
            var line = ByteBuffer(capacity: record.payload.byteCount + 512)
            write(payload: record.payload, metadata: record.metadata, into: &line)
            try SealedLine.write(line.bytes, epoch, position, by: sealer, into: &output)
        } else {
            write(payload: record.payload, metadata: record.metadata, into: &output)
        }
        output.append(UInt8(ascii: "\n"))
    }
}

extension Archive {
    /// Archives the events that a cut of a cluster log takes off a node, and returns the row for the node's journal.
    package static func keepTail(
        _ cut: ClusterCut, through last: Checkpoint, of evolving: VersionedLog
    ) throws(EvstoreError) -> @Sendable (SchemaVersion) -> [UInt8] {
        let context = MigrationContext(evolving, options: evolving.options, Job("cut at position \(cut.position)"))
        let tail = last.position.events(after: cut.position)
        if tail > 0 { _ = try writeFiles(context, after: cut.position, through: last) }
        let live = try context.state().live
        return { now in
            JournalRow(.cut, from: live, to: now, position: cut.position, outcome: "to \(cut.note), \(tail) events archived").bytes
        }
    }
}
