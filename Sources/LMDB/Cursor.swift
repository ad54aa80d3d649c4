internal import Bytes
internal import CLMDB
package import Platform

/// A place in a table. Keys and values stay lent until the transaction ends, wherever the cursor goes.
@safe
package struct Cursor: ~Copyable, ~Escapable {
    private let pointer: OpaquePointer
    private let table: String
    private var foundKey: MDB_val
    private var foundValue: MDB_val

    @_lifetime(immortal)
    init(_ pointer: OpaquePointer, _ table: String) {
        unsafe self.pointer = unsafe pointer
        self.table = table
        unsafe foundKey = MDB_val()
        unsafe foundValue = MDB_val()
    }

    deinit { unsafe mdb_cursor_close(pointer) }

    /// The key it stands at; empty before the first move and after one that found nothing.
    package var key: RawSpan {
        @_lifetime(copy self)
        get { unsafe _overrideLifetime(foundKey.span, copying: self) }
    }

    package var value: RawSpan {
        @_lifetime(copy self)
        get { unsafe _overrideLifetime(foundValue.span, copying: self) }
    }

    @_lifetime(self: copy self)
    package mutating func first() throws(StorageError) -> Bool { try move(MDB_FIRST) }

    @_lifetime(self: copy self)
    package mutating func last() throws(StorageError) -> Bool { try move(MDB_LAST) }

    @_lifetime(self: copy self)
    package mutating func next() throws(StorageError) -> Bool { try move(MDB_NEXT) }

    @_lifetime(self: copy self)
    package mutating func previous() throws(StorageError) -> Bool { try move(MDB_PREV) }

    /// Goes to the first key at or after `key`.
    @_lifetime(self: copy self)
    package mutating func seek(_ key: RawSpan) throws(StorageError) -> Bool {
        let pointer = unsafe pointer
        var value = unsafe MDB_val()
        var found = unsafe MDB_val()
        let code = unsafe key.withUnsafeBytes { bytes in
            unsafe found = MDB_val(bytes)
            return unsafe mdb_cursor_get(pointer, &found, &value, MDB_SET_RANGE)
        }
        return try unsafe arrived(code, found, value)
    }

    /// The same in a table of integer keys.
    @_lifetime(self: copy self)
    package mutating func seek(_ key: UInt64) throws(StorageError) -> Bool {
        let pointer = unsafe pointer
        var value = unsafe MDB_val()
        var found = unsafe MDB_val()
        let code = unsafe withUnsafeBytes(of: key) { bytes in
            unsafe found = MDB_val(bytes)
            return unsafe mdb_cursor_get(pointer, &found, &value, MDB_SET_RANGE)
        }
        return try unsafe arrived(code, found, value)
    }

    @_lifetime(self: copy self)
    private mutating func move(_ operation: MDB_cursor_op) throws(StorageError) -> Bool {
        var value = unsafe MDB_val()
        var found = unsafe MDB_val()
        let code = unsafe mdb_cursor_get(pointer, &found, &value, operation)
        return try unsafe arrived(code, found, value)
    }

    @_lifetime(self: copy self)
    private mutating func arrived(_ code: Int32, _ key: MDB_val, _ value: MDB_val) throws(StorageError) -> Bool {
        let isThere = code == MDB_SUCCESS
        unsafe foundKey = isThere ? key : MDB_val()
        unsafe foundValue = isThere ? value : MDB_val()
        if !isThere && code != MDB_NOTFOUND { throw StorageError(lmdb: code, "walking the table \(table)") }
        return isThere
    }
}
