internal import Bytes
internal import EventModel
internal import Hashing
internal import LMDB

/// Rows in key order, in memory or in a file: size of the key (u32), size of the value (u32), key, and the value as the table has it.
struct SortedRun: ~Copyable {
    private(set) var count: UInt64 = 0
    private(set) var digest = SetDigest()
    private var bytes = ByteBuffer(capacity: 1 << 12)
    private var file: SpillFile?
    private let table: CheckedTable

    init(of table: CheckedTable, file: consuming SpillFile?) {
        self.table = table
        self.file = file
    }

    mutating func append(key: RawSpan, text: borrowing ByteBuffer) throws {
        try table.writeRow(key, text.bytes, to: &bytes)
        digest.insert(key: key, value: text.bytes)
        count += 1
        if bytes.count >= SpillFile.writtenBytes { try flush() }
    }

    mutating func finish() throws {
        try flush()
        try file?.flush()
    }

    private mutating func flush() throws {
        guard file != nil else { return }
        try Self.move(&bytes, into: &file)
    }

    private static func move(_ bytes: inout ByteBuffer, into file: inout SpillFile?) throws {
        try file?.append(bytes.bytes)
        bytes.removeAll()
    }

    consuming func reader() -> RunReader { RunReader(file?.reader() ?? SpillReader(bytes.array())) }
}

extension CheckedTable {
    /// Appends a row in the format of a run.
    func writeRow(_ key: RawSpan, _ text: RawSpan, to bytes: inout ByteBuffer) throws {
        let start = bytes.count
        bytes.append(littleEndian: UInt32(key.byteCount))
        bytes.append(littleEndian: 0 as UInt32)
        bytes.append(key)
        let valueStart = bytes.count
        try write(key, text, to: &bytes)
        bytes.store(littleEndian: UInt32(bytes.count - valueStart), at: start + 4)
    }
}

/// A cursor on the rows of a run.
struct RunReader {
    private var source: SpillReader
    private var keyCount = 0
    /// The size of the current row in the run; 0 before the first row.
    private var size = 0
    /// The prefix of the key, which decides most comparisons.
    fileprivate private(set) var prefix: UInt64 = 0

    init(_ source: SpillReader) { self.source = source }

    /// Moves to the next row. Returns false at the end.
    mutating func next() throws -> Bool {
        source.skip(size)
        size = 0
        guard try source.fill(8) else { return false }
        keyCount = Int(source.slice(0, 4).load(UInt32.self, at: 0))
        let whole = 8 + keyCount + Int(source.slice(4, 4).load(UInt32.self, at: 0))
        guard try source.fill(whole) else { return false }
        size = whole
        prefix = source.slice(8, keyCount).prefix
        return true
    }

    fileprivate func precedes(_ other: RunReader) -> Bool {
        source.slice(8, keyCount).compare(other.source.slice(8, other.keyCount)) < 0
    }

    func append(to rows: inout ByteBuffer) { rows.append(source.slice(0, size)) }
}

/// Merges several runs without common keys, using a heap of their next rows.
struct RunMerge {
    private var readers: [RunReader]
    /// The prefix of each next key, and the index of its reader.
    private var heap: [(prefix: UInt64, reader: Int)] = []

    init(_ readers: [RunReader]) throws {
        self.readers = readers
        for index in readers.indices where try self.readers[index].next() { heap.append((self.readers[index].prefix, index)) }
        for parent in heap.indices.reversed() { sink(parent) }
    }

    mutating func forEach(_ body: (_ row: RunReader) throws -> Void) throws {
        while let least = heap.first?.reader {
            try body(readers[least])
            if try readers[least].next() {
                heap[0].prefix = readers[least].prefix
            } else {
                heap.swapAt(0, heap.count - 1)
                heap.removeLast()
            }
            sink(0)
        }
    }

    private func precedes(_ a: Int, _ b: Int) -> Bool {
        if heap[a].prefix != heap[b].prefix { return heap[a].prefix < heap[b].prefix }
        return readers[heap[a].reader].precedes(readers[heap[b].reader])
    }

    private mutating func sink(_ index: Int) {
        var parent = index
        while true {
            var least = parent
            for child in parent * 2 + 1 ... parent * 2 + 2 where child < heap.count {
                if precedes(child, least) { least = child }
            }
            if least == parent { return }
            heap.swapAt(parent, least)
            parent = least
        }
    }
}

/// Loads rows in key order into an empty generation and marks it as ready.
struct GenerationLoad: ~Copyable {
    /// The header's totals over the rows.
    struct Sums {
        var rows: UInt64 = 0
        var digest = SetDigest()
        var quarantined: UInt64 = 0
    }

    private let generation: Generation
    private let definition: Definition
    private let indexBytes: Int
    private let check: () throws -> Void
    /// Rows that are to be loaded, in the format of a run.
    private var batch = ByteBuffer(capacity: 1 << 20)

    /// How many bytes of rows one transaction loads.
    private static let batchBytes = 8 << 20

    /// - Parameters:
    ///   - indexBytes: the memory for index entries.
    ///   - check: called before each transaction; throws if the build must stop.
    init(_ generation: Generation, _ definition: Definition, indexBytes: Int, check: @escaping () throws -> Void) throws {
        (self.generation, self.definition, self.indexBytes, self.check) = (generation, definition, indexBytes, check)
        try generation.environment.setSyncing(false)
    }

    mutating func append(_ row: RunReader) throws {
        row.append(to: &batch)
        try loadWhereFull()
    }

    /// - Returns: whether a transaction has loaded rows.
    @discardableResult
    mutating func append(_ key: RawSpan, _ text: borrowing ByteBuffer) throws -> Bool {
        try generation.rows.writeRow(key, text.bytes, to: &batch)
        return try loadWhereFull()
    }

    @discardableResult
    private mutating func loadWhereFull() throws -> Bool {
        guard batch.count >= Self.batchBytes else { return false }
        try check()
        try load()
        return true
    }

    private mutating func load() throws {
        if batch.count == 0 { return }
        try Self.load(batch, into: generation)
        batch.removeAll()
    }

    /// LMDB may run a transaction again with a larger map, so rows that are already in the table may be loaded again.
    private static func load(_ rows: borrowing ByteBuffer, into generation: Generation) throws {
        let bytes = rows.bytes
        try generation.write { transaction in
            var offset = 0
            while offset < bytes.byteCount {
                let keyCount = Int(bytes.load(UInt32.self, at: offset))
                let valueCount = Int(bytes.load(UInt32.self, at: offset + 4))
                let key = offset + 8
                offset = key + keyCount + valueCount
                try generation.rows.append(bytes.slice(key, keyCount), written: bytes.slice(key + keyCount, valueCount), &transaction)
            }
        }
    }

    /// Loads the remaining rows, and the indexes.
    mutating func finish(_ sums: Sums, at checkpoint: Checkpoint) throws {
        try load()
        try definition.indexes.fill(generation, bytes: indexBytes, check)
        // Order: the rows are synced to disk before the header that marks them as ready.
        try generation.environment.sync()
        try generation.environment.setSyncing(true)
        var header = try generation.header
        header.version = definition.version
        (header.checkpoint, header.rows, header.digest) = (checkpoint, sums.rows, sums.digest.digest)
        (header.quarantined, header.isReady) = (sums.quarantined, true)
        try generation.write { [header] transaction in try generation.put(header, &transaction) }
    }
}
