internal import Glibc

/// The functions of libpq, PostgreSQL's own client library (`libpq-fe.h` of version 15; other versions of `libpq.so.5` have them too).
///
/// It is loaded when it is first needed: neither the build nor a store without PostgreSQL depends on it.
@safe
struct Libpq: @unchecked Sendable {
    // Sound to share: these are functions of a library that is never unloaded. Libpq's rule of one thread at a time is about connections.
    typealias Connection = OpaquePointer
    typealias Result = OpaquePointer
    typealias Text = UnsafePointer<CChar>
    typealias Texts = UnsafePointer<Text?>
    typealias NoticeReceiver = @convention(c) (UnsafeMutableRawPointer?, Result?) -> Void

    let connectStart: @convention(c) (Texts, Texts, Int32) -> Connection?
    let connectPoll: @convention(c) (Connection) -> Int32
    let finish: @convention(c) (Connection) -> Void
    let status: @convention(c) (Connection) -> Int32
    let transactionStatus: @convention(c) (Connection) -> Int32
    let socket: @convention(c) (Connection) -> Int32
    let user: @convention(c) (Connection) -> Text?
    let database: @convention(c) (Connection) -> Text?
    let host: @convention(c) (Connection) -> Text?
    let hostAddress: @convention(c) (Connection) -> Text?
    let port: @convention(c) (Connection) -> Text?
    let errorMessage: @convention(c) (Connection) -> Text?
    let setNoticeReceiver: @convention(c) (Connection, NoticeReceiver?, UnsafeMutableRawPointer?) -> NoticeReceiver?
    let setNonblocking: @convention(c) (Connection, Int32) -> Int32
    let setErrorVerbosity: @convention(c) (Connection, Int32) -> Int32
    let needsPassword: @convention(c) (Connection) -> Int32

    let sendQueryParams:
        @convention(c) (
            Connection, Text, Int32, UnsafePointer<UInt32>, Texts, UnsafePointer<Int32>, UnsafePointer<Int32>, Int32
        ) -> Int32
    let sendPrepare: @convention(c) (Connection, Text, Text, Int32, UnsafePointer<UInt32>) -> Int32
    let sendQueryPrepared: @convention(c) (Connection, Text, Int32, Texts, UnsafePointer<Int32>, UnsafePointer<Int32>, Int32) -> Int32
    let flush: @convention(c) (Connection) -> Int32
    let consumeInput: @convention(c) (Connection) -> Int32
    let isBusy: @convention(c) (Connection) -> Int32
    let getResult: @convention(c) (Connection) -> Result?
    let getCancel: @convention(c) (Connection) -> OpaquePointer?
    let cancel: @convention(c) (OpaquePointer, UnsafeMutablePointer<CChar>, Int32) -> Int32
    let freeCancel: @convention(c) (OpaquePointer) -> Void

    let resultStatus: @convention(c) (Result) -> Int32
    let resultErrorField: @convention(c) (Result, Int32) -> Text?
    let resultErrorMessage: @convention(c) (Result) -> Text?
    let tupleCount: @convention(c) (Result) -> Int32
    let fieldCount: @convention(c) (Result) -> Int32
    let fieldType: @convention(c) (Result, Int32) -> UInt32
    let fieldFormat: @convention(c) (Result, Int32) -> Int32
    let isNull: @convention(c) (Result, Int32, Int32) -> Int32
    let length: @convention(c) (Result, Int32, Int32) -> Int32
    let value: @convention(c) (Result, Int32, Int32) -> UnsafeRawPointer?
    let commandTuples: @convention(c) (Result) -> Text?
    let clear: @convention(c) (Result) -> Void

    let parse: @convention(c) (Text, UnsafeMutablePointer<UnsafeMutablePointer<CChar>?>) -> UnsafeRawPointer?
    let freeParsed: @convention(c) (UnsafeRawPointer) -> Void
    let freeMemory: @convention(c) (UnsafeMutableRawPointer) -> Void

    private static let loaded = Swift.Result { () throws(PostgresError) in try Libpq("libpq.so.5") }

    static var shared: Libpq {
        get throws(PostgresError) { try loaded.get() }
    }

    /// - Throws: `PostgresError` of the kind `noLibrary`.
    init(_ name: String) throws(PostgresError) {
        guard let library = unsafe dlopen(name, RTLD_NOW | RTLD_LOCAL) else {
            let reason = unsafe dlerror().map { unsafe String(cString: $0) } ?? name
            throw PostgresError(.noLibrary, "PostgreSQL's client library can't be loaded; Debian's package libpq5 has it: \(reason)")
        }
        func find<F>(_ function: String, as type: F.Type = F.self) throws(PostgresError) -> F {
            guard let symbol = unsafe dlsym(library, function) else {
                throw PostgresError(.noLibrary, "\(name) has no function \(function); Debian's package libpq5 has it")
            }
            return unsafe unsafeBitCast(symbol, to: type)
        }
        unsafe connectStart = try find("PQconnectStartParams")
        unsafe connectPoll = try find("PQconnectPoll")
        unsafe finish = try find("PQfinish")
        unsafe status = try find("PQstatus")
        unsafe transactionStatus = try find("PQtransactionStatus")
        unsafe socket = try find("PQsocket")
        unsafe user = try find("PQuser")
        unsafe database = try find("PQdb")
        unsafe host = try find("PQhost")
        unsafe hostAddress = try find("PQhostaddr")
        unsafe port = try find("PQport")
        unsafe errorMessage = try find("PQerrorMessage")
        unsafe setNoticeReceiver = try find("PQsetNoticeReceiver")
        unsafe setNonblocking = try find("PQsetnonblocking")
        unsafe setErrorVerbosity = try find("PQsetErrorVerbosity")
        unsafe needsPassword = try find("PQconnectionNeedsPassword")
        unsafe sendQueryParams = try find("PQsendQueryParams")
        unsafe sendPrepare = try find("PQsendPrepare")
        unsafe sendQueryPrepared = try find("PQsendQueryPrepared")
        unsafe flush = try find("PQflush")
        unsafe consumeInput = try find("PQconsumeInput")
        unsafe isBusy = try find("PQisBusy")
        unsafe getResult = try find("PQgetResult")
        unsafe getCancel = try find("PQgetCancel")
        unsafe cancel = try find("PQcancel")
        unsafe freeCancel = try find("PQfreeCancel")
        unsafe resultStatus = try find("PQresultStatus")
        unsafe resultErrorField = try find("PQresultErrorField")
        unsafe resultErrorMessage = try find("PQresultErrorMessage")
        unsafe tupleCount = try find("PQntuples")
        unsafe fieldCount = try find("PQnfields")
        unsafe fieldType = try find("PQftype")
        unsafe fieldFormat = try find("PQfformat")
        unsafe isNull = try find("PQgetisnull")
        unsafe length = try find("PQgetlength")
        unsafe value = try find("PQgetvalue")
        unsafe commandTuples = try find("PQcmdTuples")
        unsafe clear = try find("PQclear")
        unsafe parse = try find("PQconninfoParse")
        unsafe freeParsed = try find("PQconninfoFree")
        unsafe freeMemory = try find("PQfreemem")
    }

    /// A server's messages may be of any length; longer ones are cut.
    private static let textBytesMax = 4_096

    /// Copies a text of libpq, or its beginning.
    static func text(_ pointer: Text?) -> String {
        guard let pointer = unsafe pointer else { return "" }
        let bytes = unsafe UnsafeRawBufferPointer(start: pointer, count: strnlen(pointer, textBytesMax))
        return unsafe String(decoding: bytes, as: UTF8.self)
    }

    /// Libpq's message about a connection, on one line.
    func message(_ connection: Connection) -> String { unsafe Self.oneLine(Self.text(errorMessage(connection))) }

    static func oneLine(_ text: String) -> String {
        text.split(whereSeparator: \.isNewline).map { $0.trimmingWhitespace }.filter { !$0.isEmpty }.joined(separator: "; ")
    }
}

extension Substring {
    fileprivate var trimmingWhitespace: Substring {
        let front = drop(while: \.isWhitespace)
        return front[..<(front.lastIndex { !$0.isWhitespace }.map(front.index(after:)) ?? front.startIndex)]
    }
}
