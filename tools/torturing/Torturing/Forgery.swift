#if TESTABLE
    internal import Bytes
    package import EventModel
    internal import Foundation
    internal import Hashing
    internal import LMDB

    @testable package import EventLog

    /// A store's log as somebody makes it anew who has its files and this program: every checksum, link, index, epoch and the anchor
    /// are right again, so that nothing but a head kept elsewhere can tell. A build of the tests alone can reach so far into the log.
    package struct Forgery {
        /// An event as it lies in a block, without its place.
        package struct Entry: Hashable {
            package var event: StoredEvent
            /// The id that the store made.
            package var madeID: EventID?
            package var isSameAppend: Bool
        }

        package struct Block {
            package var epoch: Epoch
            package var time: Timestamp
            package var entries: [Entry]
        }

        package var blocks: [Block] = []
        private let store: String
        private let storeID: StoreID
        private var cuts: [Checkpoint] = []

        /// Reads a store that nobody has open.
        package init(of store: String) throws {
            self.store = store
            storeID = try Manifest.identity(at: store).id
            let access = try Self.access(store, storeID)
            defer { access.environment.close() }
            (blocks, cuts) = try access.environment.read { transaction in
                var streams: [UInt64: StreamName] = [:]
                var blocks: [Block] = []
                var cursor = transaction.cursor(access.tables.blocks)
                var isThere = try cursor.first()
                while isThere {
                    let block = try Blocks.view(cursor, access)
                    let entries = (0 ..< block.count).map { Self.entry(block.record($0), access, &streams) }
                    blocks.append(Block(epoch: block.epoch, time: block.time, entries: entries))
                    isThere = try cursor.next()
                }
                return (blocks, try Epochs.all(transaction, access.tables))
            }
        }

        private static func access(_ store: String, _ storeID: StoreID) throws -> LogAccess {
            let environment = try EventLog.openEnvironment(store, .init(), readOnly: false)
            let access = try LogAccess(environment, of: Manifest.identity(at: store))
            try environment.read { transaction in
                for (id, name) in try Indexes.types(transaction, access.tables) { access.names.learn(id, name) }
            }
            return access
        }

        private static func entry(_ record: RecordView, _ access: LogAccess, _ streams: inout [UInt64: StreamName]) -> Entry {
            if let name = record.streamName { streams[record.streamID] = name }
            var event = StoredEvent(
                stream: streams[record.streamID] ?? StreamName(unchecked: "unknown"), type: access.names[record.type] ?? "",
                born: record.born,
                payload: [UInt8](copying: record.payload), metadata: [UInt8](copying: record.metadata),
                id: record.idGiven ? record.id : nil, time: record.time)
            event.shadow = [UInt8](copying: record.shadow)
            return Entry(event: event, madeID: record.idGiven ? nil : record.id, isSameAppend: record.continuesAppend)
        }

        /// Puts the log in place of the one that is there.
        /// - Parameter keepsEpochs: what the table of epochs says stays, so that what follows a cut links to what was before it.
        package func write(keepsEpochs: Bool = false) throws {
            let access = try Self.access(store, storeID)
            let last = try access.environment.writeOwned { transaction in
                var transaction = transaction
                let tables = access.tables
                try transaction.removeAll(tables.blocks)
                for table in [tables.streams, tables.heads, tables.ids, tables.census] { try table.removeAll(&transaction) }
                let last = try putBlocks(&transaction, access, keepsEpochs)
                try StateRows.put(indexed: .start, &transaction, tables)
                return Checkpoint(epoch: try StateRows.numbers(transaction.reads, tables).epoch, position: last)
            }
            try Reindexing.run(access) {}
            let link = try access.environment.read { try Blocks.endLink($0, access) }
            access.environment.close()
            try LogFile.writeAnchor(at: store, storeID, last, link)
        }

        private func putBlocks(_ transaction: inout WriteTransaction, _ access: LogAccess, _ keepsEpochs: Bool) throws -> Position {
            var writer = BlockWriter(storeID)
            var places = Places()
            var (last, link, epoch) = (Position.start, Epochs.genesis(storeID), Epoch.first)
            for block in blocks where !block.entries.isEmpty {
                if block.epoch != epoch {
                    // An epoch begins where the log now ends.
                    if !keepsEpochs { try Epochs.put(block.epoch, cut: last, link: link, &transaction, access.tables) }
                    epoch = block.epoch
                    link = try Blocks.start(of: epoch, transaction.reads, access)
                }
                let events = block.entries.map(\.event)
                var made: [(Position, [UInt8])] = []
                writer.begin(epoch, first: last.next, link: link, time: block.time)
                for index in events.indices {
                    last = last.next
                    let place = places.next(block.entries[index], at: last, type: access.names.id(of: events[index].type) ?? 0)
                    try writer.add(events.span, index, place) { made.append(($0, [UInt8](copying: $1))) }
                }
                try writer.finish { made.append(($0, [UInt8](copying: $1))) }
                for (first, bytes) in made { try transaction.append(access.tables.blocks, littleEndian(first.rawValue).lent, bytes.lent) }
                link = writer.lastLink
            }
            return last
        }
    }

    private func littleEndian(_ value: UInt64) -> [UInt8] { (0 ..< 8).map { UInt8(truncatingIfNeeded: value >> (8 * $0)) } }

    /// Where each event stands in its stream.
    private struct Places {
        private var streams: [StreamName: [UInt64]] = [:]

        mutating func next(_ entry: Forgery.Entry, at position: Position, type: TypeID) -> BlockWriter.AssignedFields {
            let before = streams[entry.event.stream, default: []]
            let revision = UInt64(before.count)
            streams[entry.event.stream] = before + [position.rawValue]
            return BlockWriter.AssignedFields(
                type: type, isSameAppend: entry.isSameAppend, madeID: entry.madeID?.uuid, stream: before.first ?? position.rawValue,
                revision: revision, previous: before.last ?? 0, jump: before.isEmpty ? 0 : before[Int(JumpList.target(of: revision))])
        }
    }
#endif
