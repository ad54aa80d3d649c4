internal import Platform

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
