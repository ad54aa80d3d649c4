#if TESTABLE
    internal import Bytes
    internal import EventModel
    internal import Hashing
    internal import LMDB

    @testable internal import EventLog

    /// Somebody who can write a store's files and knows their format, and has none of its keys: every checksum, link and the anchor
    /// are right again after a change, and only codes can tell. A build of the tests alone can reach into the log's room so far.
    package struct Intruder {
        package typealias Row = (key: [UInt8], value: [UInt8])

        package static let tables = TableDescriptor.log.filter { $0.number != nil }.map(\.name).sorted()
        private let store: String
        private let storeID: StoreID

        /// Of a store that nobody has open.
        package init(in store: String) throws { (self.store, storeID) = (store, try Manifest.identity(at: store).id) }

        // MARK: Rows

        /// Puts the rows of a table anew, each with what `change` makes of it: all that stands before the checksum.
        package func change(_ name: String, _ change: (inout [Row]) throws -> Void) throws {
            guard let seal = TableDescriptor.log[named: name].flatMap({ RowChecksum($0, storeTag: storeID.tag) }) else { return }
            try writing(name) { transaction, table in
                var rows = try Self.rows(transaction.reads, table).map { (key: $0.key, value: Array($0.value.dropLast(RowChecksum.bytes))) }
                try change(&rows)
                for (key, value) in rows {
                    let row = value + bytes(seal.sum(key.lent, value.lent))
                    try transaction.put(table, key.lent, row.lent)
                }
            }
        }

        /// Replaces a text by one of the same length in the rows of a table.
        package func replace(_ old: String, _ new: String, in table: String) throws {
            try change(table) { rows in for index in rows.indices { Self.replace(old, new, in: &rows[index].value) } }
        }

        /// Gives the first two rows of a table each other's values; false where it has no two.
        package func exchange(in table: String) throws -> Bool {
            var isDone = false
            try change(table) { rows in
                guard rows.count > 1 else { return }
                let first = rows[0].value
                (rows[0].value, rows[1].value) = (rows[1].value, first)
                isDone = first != rows[0].value
            }
            return isDone
        }

        // MARK: Blocks

        /// Changes every block where it lies, and makes the chain and the anchor anew; nothing but an epoch is there.
        package func changeBlocks(_ change: (inout [UInt8]) throws -> Void) throws {
            var last = Checkpoint(epoch: .first, position: .start)
            var link = Epochs.genesis(storeID)
            try writing("blocks") { transaction, table in
                for (key, old) in try Self.rows(transaction.reads, table) {
                    var block = old
                    try change(&block)
                    let epoch = Epoch(block.lent.load(UInt32.self, at: BlockLayout.Header.epoch))
                    if epoch > last.epoch { link = Epochs.link(epoch, cut: last.position, link: link) }
                    link = sum(&block, epoch, after: link)
                    try transaction.put(table, key.lent, block.lent)
                    let first = block.lent.load(UInt64.self, at: BlockLayout.Header.first)
                    let count = block.lent.load(UInt32.self, at: BlockLayout.Header.count)
                    last = Checkpoint(epoch: epoch, position: Position(first + UInt64(count) - 1))
                }
            }
            try LogFile.writeAnchor(at: store, storeID, last, link)
        }

        /// Replaces a text by one of the same length wherever blocks have it.
        package func replaceInBlocks(_ old: String, _ new: String) throws { try changeBlocks { Self.replace(old, new, in: &$0) } }

        /// Makes the checksums of records and block right, and the link, which it returns.
        private func sum(_ block: inout [UInt8], _ epoch: Epoch, after link: Digest) -> Digest {
            let (end, sum) = (BlockLayout.bodyEnd(block.lent), block.count - BlockLayout.checksumBytes)
            let count = Int(block.lent.load(UInt32.self, at: BlockLayout.Header.count))
            let table = Int(block.lent.load(UInt32.self, at: BlockLayout.Header.offsets))
            let first = block.lent.load(UInt64.self, at: BlockLayout.Header.first)
            let starts =
                (0 ..< count).map { Int(block.lent.load(UInt32.self, at: table + $0 * BlockLayout.entryBytes)) }
                + [BlockLayout.envelope(block.lent)?.lowerBound ?? end]
            for index in 0 ..< count {
                let place = BlockLayout.place(storeID.tag, epoch, Position(first + UInt64(index)))
                let sum = checksum(block.lent.slice(starts[index], starts[index + 1] - starts[index]))
                let entry = table + index * BlockLayout.entryBytes + 4
                block.replaceSubrange(entry ..< entry + 4, with: bytes(UInt32(truncatingIfNeeded: sum) ^ place))
            }
            let link = BlockDraft.link(after: link, block.lent.slice(0, end))
            block.replaceSubrange(BlockLayout.Header.link ..< BlockLayout.Header.link + link.bytes.count, with: link.bytes)
            block.replaceSubrange(sum ..< block.count, with: bytes(checksum(block.lent.slice(0, sum))))
            return link
        }

        // MARK: By chance

        /// One change; false where nothing was changed.
        package func change(_ random: inout some RandomNumberGenerator) throws -> Bool {
            let table = Self.tables.randomElement(using: &random) ?? "types"
            switch Int.random(in: 0 ..< 4, using: &random) {
            case 0: return try exchange(in: table)
            case 1: return try changeHead(&random)
            default:
                var isDone = false
                try change(table) { rows in
                    guard let row = rows.indices.randomElement(using: &random),
                        let byte = rows[row].value.indices.randomElement(using: &random)
                    else { return }
                    rows[row].value[byte] ^= 1 << UInt8.random(in: 0 ..< 8, using: &random)
                    isDone = true
                }
                return isDone
            }
        }

        /// A bit of what a record of the first block says in the clear: its stream, revision, pointers, time, type or birth version.
        private func changeHead(_ random: inout some RandomNumberGenerator) throws -> Bool {
            let (byte, bit) = (
                Int.random(in: 0 ..< BlockLayout.Record.payloadBytes, using: &random), UInt8.random(in: 0 ..< 8, using: &random)
            )
            var isDone = false
            try changeBlocks { block in
                if isDone { return }
                let table = Int(block.lent.load(UInt32.self, at: BlockLayout.Header.offsets))
                block[Int(block.lent.load(UInt32.self, at: table)) + byte] ^= 1 << bit
                isDone = true
            }
            return isDone
        }

        // MARK: The file

        private func writing(_ name: String, _ body: (inout WriteTransaction, Table) throws -> Void) throws {
            var options = Options()
            options.mapBytes = 1 << 26
            let environment = try Environment.open(directory: store + "/log", TableDescriptor.log.configuration(options, readOnly: false))
            defer { environment.close() }
            let table = try environment.table(name)
            try environment.writeOwned { transaction in
                var transaction = transaction
                try body(&transaction, table)
            }
        }

        private static func rows(_ transaction: borrowing ReadTransaction, _ table: Table) throws -> [Row] {
            var rows: [Row] = []
            var cursor = transaction.cursor(table)
            var isThere = try cursor.first()
            while isThere {
                rows.append(([UInt8](copying: cursor.key), [UInt8](copying: cursor.value)))
                isThere = try cursor.next()
            }
            return rows
        }

        private static func replace(_ old: String, _ new: String, in bytes: inout [UInt8]) {
            let (old, new) = (Array(old.utf8), Array(new.utf8))
            for start in bytes.indices where bytes[start...].starts(with: old) {
                bytes.replaceSubrange(start ..< start + new.count, with: new)
            }
        }
    }
#endif
