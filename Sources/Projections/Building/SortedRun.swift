internal import Bytes
internal import Hashing
internal import LMDB

/// Rows in the order of their keys, in memory or in a file: size of the key (u32), size of the value (u32), key, value.
struct SortedRun: ~Copyable {
    private(set) var count: UInt64 = 0
    private(set) var digest = SetDigest()
    private var bytes = ByteBuffer(capacity: 1 << 12)
    private var file: SpillFile?

    init(file: consuming SpillFile?) { self.file = file }

    mutating func append(key: RawSpan, value: borrowing ByteBuffer) throws {
        bytes.append(littleEndian: UInt32(key.byteCount))
        bytes.append(littleEndian: UInt32(value.count))
        bytes.append(key)
        bytes.append(value.bytes)
        digest.insert(key: key, value: value.bytes)
        count += 1
        if bytes.count >= SpillFile.pieceBytes { try flush() }
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

/// Stands at one row of a run.
struct RunReader {
    private var source: SpillReader
    private(set) var key: [UInt8] = []
    private(set) var value: [UInt8] = []

    init(_ source: SpillReader) { self.source = source }

    /// Goes to the next row; false at the end.
    mutating func next() throws -> Bool {
        var head = ByteBuffer(capacity: 16)
        guard try source.peek(8, into: &head) else { return false }
        let keyCount = Int(head.bytes.load(UInt32.self, at: 0))
        let valueCount = Int(head.bytes.load(UInt32.self, at: 4))
        source.skip(8)
        key = try source.take(keyCount)
        value = try source.take(valueCount)
        return true
    }
}

/// Several runs without a common key as one, by a heap of their next rows.
struct RunMerge {
    private var heap: [RunReader] = []

    init(_ readers: [RunReader]) throws {
        for var reader in readers where try reader.next() { heap.append(reader) }
        heap.sort { Self.precedes($0.key, $1.key) }
    }

    /// Gives the rows in order.
    mutating func forEach(_ body: (_ key: [UInt8], _ value: [UInt8]) throws -> Void) throws {
        while !heap.isEmpty {
            try body(heap[0].key, heap[0].value)
            if try !heap[0].next() { heap.swapAt(0, heap.count - 1); heap.removeLast() }
            sink()
        }
    }

    private static func precedes(_ a: [UInt8], _ b: [UInt8]) -> Bool { a.lent.compare(b.lent) < 0 }

    private mutating func sink() {
        var parent = 0
        while true {
            var least = parent
            for child in [parent * 2 + 1, parent * 2 + 2] where child < heap.count {
                if Self.precedes(heap[child].key, heap[least].key) { least = child }
            }
            if least == parent { return }
            heap.swapAt(parent, least)
            parent = least
        }
    }
}
