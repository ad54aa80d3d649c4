internal import Bytes
internal import CLMDB

/// What `data.mdb` must be before LMDB may map it: a short file ends the process with a signal, an
/// empty one becomes a new store.
///
/// Both meta pages (LMDB 0.9 data format 1, little-endian), page `i` at `i` times the page size:
/// 0 u64 page number · 10 u16 flags, 8 is "meta" · 16 u32 magic BEEFC0DE · 20 u32 version 1 ·
/// 40 u32 page size · 136 u64 last page · 144 u64 transaction.
///
/// 1. The page size is a power of two from 512 to 32,768 and the same in both.
/// 2. Number, flags, magic and version are as above.
/// 3. The last page of the newer meta lies within the file.
enum MetaCheck {
    static func check(_ file: File) throws(LMDBError) {
        let size = try file.status().bytes
        if size == 0 { throw LMDBError(invalid: "\(file.path) is empty") }
        let first = try meta(0, in: file, at: 0, size)
        let second = try meta(1, in: file, at: first.pageBytes, size)
        guard first.pageBytes == second.pageBytes else { throw LMDBError(invalid: "\(file.path): the two meta pages differ in page size") }
        let newer = first.transaction >= second.transaction ? first : second
        let (end, overflow) = newer.lastPage.addingReportingOverflow(1)
        guard !overflow, end <= UInt64(size / first.pageBytes) else {
            throw LMDBError(
                invalid: "\(file.path) has \(size) bytes and should have \(end) pages of \(first.pageBytes): its end is missing")
        }
    }

    private struct Meta {
        var pageBytes: Int
        var lastPage: UInt64
        var transaction: UInt64
    }

    private static func meta(_ number: UInt64, in file: File, at offset: Int, _ size: Int) throws(LMDBError) -> Meta {
        let bytes = try file.read(152, at: offset)
        guard bytes.count == 152 else { throw LMDBError(invalid: "\(file.path) has \(size) bytes: too short for its meta pages") }
        let page = bytes.lent
        let pageBytes = page.load(UInt32.self, at: 40)
        guard page.load(UInt64.self, at: 0) == number, page.load(UInt16.self, at: 10) == 8,
            page.load(UInt32.self, at: 16) == 0xbeef_c0de
        else { throw LMDBError(invalid: "\(file.path) is no LMDB file: meta page \(number) is not one") }
        guard page.load(UInt32.self, at: 20) == 1 else { throw LMDBError(MDB_VERSION_MISMATCH, "opening \(file.path)") }
        guard pageBytes.nonzeroBitCount == 1, (512 ... 32_768).contains(pageBytes) else {
            throw LMDBError(invalid: "\(file.path): meta page \(number) names pages of \(pageBytes) bytes")
        }
        return Meta(pageBytes: Int(pageBytes), lastPage: page.load(UInt64.self, at: 136), transaction: page.load(UInt64.self, at: 144))
    }
}
