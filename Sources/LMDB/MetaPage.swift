internal import Bytes
internal import CLMDB
package import Platform

/// One of the two pages at the start of `data.mdb` that lead to everything else. Commits write them in turn, by the parity of their number:
/// each overwrites the meta page of the commit before the last.
///
/// LMDB 0.9 data format 1, little-endian, page `i` at `i` times the page size: 0 u64 page number · 10 u16 flags, 8 is
/// "meta" · 16 u32 magic BEEFC0DE · 20 u32 version 1 · 24 u64 address · 40 the free list's `TreeRecord`, whose pad is the page
/// size · 88 the main tree's · 136 u64 last page · 144 u64 transaction.
///
/// 1. The page size is a power of two from 512 to 32,768.
/// 2. Number, flags, magic and version are as above.
/// 3. The last page and the transaction are numbers that a file can reach.
package struct MetaPage: Hashable, Sendable {
    /// The bytes of the page that LMDB uses.
    package static let size = 152
    private static let magic: UInt32 = 0xbeef_c0de
    private static let magicOffset = 16
    /// The offset in files of LMDB 1.0.
    private static let magicOffsetOfLater = 24
    private static let format: UInt32 = 1
    private static let numberMax: UInt64 = 1 << 48
    static let address = 24
    static let freeRecord = 40
    static let mainRecord = 88
    package let bytes: [UInt8]

    /// - Parameter name: the file's name, for messages.
    package init(_ bytes: [UInt8], number: UInt64, in name: String) throws(StorageError) {
        let page = bytes.lent
        guard bytes.count == Self.size else { throw StorageError(invalid: "\(name) is too short for its meta pages") }
        func isMarked(at offset: Int) -> Bool { page.load(UInt32.self, at: offset) == Self.magic }
        // LMDB 1.0 has a longer header before its magic number.
        guard isMarked(at: Self.magicOffset) || !isMarked(at: Self.magicOffsetOfLater) else {
            throw Self.other(page.load(UInt32.self, at: Self.magicOffsetOfLater + 4), name)
        }
        guard page.load(UInt64.self, at: 0) == number, page.load(UInt16.self, at: 10) == 8, isMarked(at: Self.magicOffset)
        else { throw StorageError(invalid: "\(name) is no LMDB file: meta page \(number) is not one") }
        let format = page.load(UInt32.self, at: Self.magicOffset + 4)
        guard format == Self.format else { throw Self.other(format, name) }
        let pageBytes = page.load(UInt32.self, at: 40)
        guard pageBytes.nonzeroBitCount == 1, (512 ... 32_768).contains(pageBytes) else {
            throw StorageError(invalid: "\(name): meta page \(number) names pages of \(pageBytes) bytes")
        }
        self.bytes = bytes
        guard lastPage <= Self.numberMax, transaction <= Self.numberMax else {
            throw StorageError(invalid: "\(name): meta page \(number) names page \(lastPage) and transaction \(transaction)")
        }
    }

    private static func other(_ format: UInt32, _ name: String) -> StorageError {
        StorageError(otherLMDB: "\(name) has the data format \(format) of another LMDB; that of LMDB 0.9 is \(Self.format)")
    }

    init(_ number: UInt64, of file: File, at offset: Int) throws(StorageError) {
        self = try MetaPage(file.read(Self.size, at: offset), number: number, in: file.path)
    }

    /// The first of the file's two meta pages.
    /// - Throws: `StorageError`: with `isOtherLMDB` where both are of another format; where only this one is, it is damaged.
    static func first(of file: File) throws(StorageError) -> MetaPage {
        do throws(StorageError) { return try MetaPage(0, of: file, at: 0) } catch {
            guard error.isOtherLMDB, try hasSecond(file) else { throw error }
            throw different(file)
        }
    }

    /// The second meta page of a file whose first one is sound.
    static func second(of file: File, after first: MetaPage) throws(StorageError) -> MetaPage {
        do throws(StorageError) { return try MetaPage(1, of: file, at: first.pageBytes) } catch {
            throw error.isOtherLMDB ? different(file) : error
        }
    }

    private static func hasSecond(_ file: File) throws(StorageError) -> Bool {
        for shift in 9 ... 15 {
            let bytes = try file.read(size, at: 1 << shift)
            do throws(StorageError) { if try MetaPage(bytes, number: 1, in: file.path).pageBytes == 1 << shift { return true } } catch {}
        }
        return false
    }

    private static func different(_ file: File) -> StorageError {
        StorageError(invalid: "\(file.path): the two meta pages differ in format")
    }

    package var pageBytes: Int { Int(bytes.lent.load(UInt32.self, at: 40)) }
    package var lastPage: UInt64 { bytes.lent.load(UInt64.self, at: 136) }
    package var transaction: UInt64 { bytes.lent.load(UInt64.self, at: 144) }

    /// Makes this the file's newest commit again, durably. No process may have the environment open.
    package func restore(to file: File) throws(StorageError) {
        // Before the first commit there is nothing to go back to.
        guard transaction > 0 else { throw StorageError(invalid: "\(file.path): no commit has the number 0") }
        // The other meta page gets the same commit under the number before it, so that LMDB picks this one.
        for commit in [transaction - 1, transaction] {
            var row = ByteBuffer(capacity: Self.size)
            row.append(bytes)
            row.store(littleEndian: commit & 1, at: 0)
            row.store(littleEndian: commit, at: 144)
            try file.write(row.array(), at: Int(commit & 1) * pageBytes)
        }
        try file.sync()
    }
}

/// Checks `data.mdb` before LMDB maps it: a file that is too short would end the process with a signal, and an empty one would become a new
/// store. Both meta pages must be valid (`MetaPage`) and name the same page size, and the last page of the newer one must lie within the
/// file.
enum MetaCheck {
    static func check(_ file: File) throws(StorageError) {
        if try file.status().bytes == 0 { throw StorageError(invalid: "\(file.path) is empty") }
        let first = try MetaPage.first(of: file)
        let second = try MetaPage.second(of: file, after: first)
        guard first.pageBytes == second.pageBytes else {
            throw StorageError(invalid: "\(file.path): the two meta pages differ in page size")
        }
        // Order: the size is read after the meta pages, since another process may be writing, and the file grows before its meta pages say
        // so.
        let size = try file.status().bytes
        let newer = first.transaction >= second.transaction ? first : second
        let (end, overflow) = newer.lastPage.addingReportingOverflow(1)
        guard !overflow, end <= UInt64(size / first.pageBytes) else {
            throw StorageError(
                invalid: "\(file.path) has \(size) bytes and should have \(end) pages of \(first.pageBytes): its end is missing")
        }
    }
}
