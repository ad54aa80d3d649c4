internal import Bytes
internal import CLMDB
package import Platform

/// A position in a table, or among the rows that follow it (`AheadView`). Keys and values stay lent until the transaction ends, wherever
/// the cursor moves.
@safe
package struct Cursor: ~Copyable, ~Escapable {
    private let transaction: OpaquePointer
    private let table: Table
    /// LMDB's own cursor; nil until a row of the table itself is read, since the rows behind the table need none.
    private var opened: OpaquePointer?
    /// The rows that follow those of the table; nil where there are none.
    private let ahead: AheadView?
    /// The cursor's index among these rows, or the end of their range; nil in the table.
    private var aheadIndex: Int?
    private var foundKey: MDB_val
    private var foundValue: MDB_val

    @_lifetime(immortal)
    init(_ transaction: OpaquePointer, _ table: Table, _ ahead: AheadView?) {
        unsafe self.transaction = unsafe transaction
        (self.table, self.ahead) = (table, ahead)
        unsafe foundKey = MDB_val()
        unsafe foundValue = MDB_val()
    }

    deinit { if let opened = unsafe opened { unsafe mdb_cursor_close(opened) } }

    @_lifetime(self: copy self)
    private mutating func open() throws(StorageError) {
        if unsafe opened != nil { return }
        var made: OpaquePointer?
        try check(unsafe mdb_cursor_open(transaction, table.handle, &made), "reading the table \(table.name)")
        unsafe opened = unsafe made
    }

    /// The key at the cursor; empty before the first move and after one that found nothing.
    package var key: RawSpan {
        @_lifetime(copy self)
        get { unsafe _overrideLifetime(foundKey.span, copying: self) }
    }

    package var value: RawSpan {
        @_lifetime(copy self)
        get { unsafe _overrideLifetime(foundValue.span, copying: self) }
    }

    @_lifetime(self: copy self)
    package mutating func first() throws(StorageError) -> Bool { try move(MDB_FIRST) || enterTail() }

    @_lifetime(self: copy self)
    package mutating func last() throws(StorageError) -> Bool {
        if let ahead { return stand(at: ahead.range.upperBound - 1, ahead) }
        return try move(MDB_LAST)
    }

    @_lifetime(self: copy self)
    package mutating func next() throws(StorageError) -> Bool {
        if let ahead, let aheadIndex { return stand(at: min(aheadIndex + 1, ahead.range.upperBound), ahead) }
        return try move(MDB_NEXT) || enterTail()
    }

    @_lifetime(self: copy self)
    package mutating func previous() throws(StorageError) -> Bool {
        guard let ahead, let aheadIndex else { return try move(MDB_PREV) }
        return aheadIndex > ahead.range.lowerBound ? stand(at: aheadIndex - 1, ahead) : try move(MDB_LAST)
    }

    /// Goes to the first key at or after `key`.
    @_lifetime(self: copy self)
    package mutating func seek(_ key: RawSpan) throws(StorageError) -> Bool {
        if ahead != nil, key.byteCount == 8 { return try seek(key.load(UInt64.self, at: 0)) }
        try open()
        let opened = unsafe opened
        var value = unsafe MDB_val()
        var found = unsafe MDB_val()
        let code = unsafe key.withUnsafeBytes { bytes in
            unsafe found = MDB_val(bytes)
            return unsafe mdb_cursor_get(opened, &found, &value, MDB_SET_RANGE)
        }
        return try unsafe arrived(code, found, value)
    }

    /// Goes to the first key at or after `key`, in a table of integer keys.
    @_lifetime(self: copy self)
    package mutating func seek(_ key: UInt64) throws(StorageError) -> Bool {
        if let ahead, key >= ahead.firstKey { return stand(at: ahead.index(of: key), ahead) }
        try open()
        let opened = unsafe opened
        var value = unsafe MDB_val()
        var found = unsafe MDB_val()
        let code = unsafe withUnsafeBytes(of: key) { bytes in
            unsafe found = MDB_val(bytes)
            return unsafe mdb_cursor_get(opened, &found, &value, MDB_SET_RANGE)
        }
        return try unsafe arrived(code, found, value) || enterTail()
    }

    /// Moves to the first row behind the table.
    @_lifetime(self: copy self)
    private mutating func enterTail() -> Bool {
        guard let ahead else { return false }
        return stand(at: ahead.range.lowerBound, ahead)
    }

    @_lifetime(self: copy self)
    private mutating func stand(at index: Int, _ ahead: AheadView) -> Bool {
        aheadIndex = index
        let isThere = ahead.range.contains(index)
        unsafe foundKey = isThere ? MDB_val(ahead.key(index)) : MDB_val()
        unsafe foundValue = isThere ? MDB_val(ahead.value(index)) : MDB_val()
        return isThere
    }

    @_lifetime(self: copy self)
    private mutating func move(_ operation: MDB_cursor_op) throws(StorageError) -> Bool {
        var value = unsafe MDB_val()
        var found = unsafe MDB_val()
        try open()
        let code = unsafe mdb_cursor_get(opened, &found, &value, operation)
        return try unsafe arrived(code, found, value)
    }

    @_lifetime(self: copy self)
    private mutating func arrived(_ code: Int32, _ key: MDB_val, _ value: MDB_val) throws(StorageError) -> Bool {
        let isThere = code == MDB_SUCCESS
        aheadIndex = nil
        unsafe foundKey = isThere ? key : MDB_val()
        unsafe foundValue = isThere ? value : MDB_val()
        if !isThere && code != MDB_NOTFOUND { throw StorageError(lmdb: code, "walking the table \(table.name)") }
        return isThere
    }
}
