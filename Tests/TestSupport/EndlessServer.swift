internal import CTestSupport
internal import Glibc
internal import Platform

/// Speaks as much of PostgreSQL's protocol as a client needs to take it for a server, and then says one thing without an end.
package final class EndlessServer: Sendable {
    package enum Flood: CaseIterable, Sendable {
        /// Before anybody is let in.
        case settings
        /// Rows of one number each.
        case rows
        /// A row with one value, of a gibibyte, as it says.
        case value
        case notices
        /// An answer after the other to one statement.
        case answers
        /// What nobody has asked, before the first statement.
        case unasked
    }

    package let port: Int
    private let listener: Int32
    private let sentBytes = Monitor(0)

    /// How much the clients have taken, what lies in the system's buffers included.
    package var sent: Int { sentBytes.withLock { $0 } }

    package init(_ flood: Flood) throws {
        (listener, port) = try FaultyProxy.listen()
        let (listener, sentBytes) = (listener, sentBytes)
        _ = try WorkerThread.start("endless") {
            while true {
                let client = test_accept(listener)
                if client < 0 { return }
                Self.talk(client, flood, sentBytes)
                close(client)
            }
        }
    }

    deinit { shutdown(listener, Int32(SHUT_RDWR)) }

    private static func talk(_ client: Int32, _ flood: Flood, _ sentBytes: Monitor<Int>) {
        var buffer = [UInt8](repeating: 0, count: 4_096)
        // What the client begins with, and what it asks.
        guard unsafe read(client, &buffer, buffer.count) > 0 else { return }
        let welcome = message("R", [0, 0, 0, 0]) + (flood == .settings ? [] : message("Z", [73]))
        guard write(client, welcome) else { return }
        if flood != .settings, flood != .unasked, unsafe read(client, &buffer, buffer.count) <= 0 { return }
        guard write(client, beginning(flood)) else { return }
        let chunk = Array(repeatElement(piece(flood), count: 1_000).joined())
        while write(client, chunk) { sentBytes.withLock { $0 += chunk.count } }
    }

    private static let number = message("T", [0, 1, 97, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 20, 0, 8, 255, 255, 255, 255, 0, 1])
    private static let begun = message("1", []) + message("2", [])

    private static func beginning(_ flood: Flood) -> [UInt8] {
        switch flood {
        case .settings, .unasked, .notices: []
        case .rows, .answers: begun + number
        case .value: begun + number + [68, 63, 255, 255, 255, 0, 1, 63, 255, 255, 245]
        }
    }

    private static func piece(_ flood: Flood) -> [UInt8] {
        switch flood {
        case .settings: message("S", Array("setting\(Int.random(in: 0 ... .max))".utf8) + [0] + Array("value".utf8) + [0])
        case .rows: message("D", [0, 1, 0, 0, 0, 8, 0, 0, 0, 0, 0, 0, 0, 1])
        case .value: [UInt8](repeating: 7, count: 64)
        case .notices, .unasked: message("N", Array("SNOTICE\0VNOTICE\0C00000\0Mmore\0\0".utf8))
        case .answers: message("C", Array("SELECT 0\0".utf8)) + begun + number
        }
    }

    private static func message(_ type: Character, _ body: [UInt8]) -> [UInt8] {
        let size = UInt32(body.count + 4)
        return [type.asciiValue ?? 0] + (0 ..< 4).map { UInt8(truncatingIfNeeded: size >> (24 - 8 * $0)) } + body
    }

    private static func write(_ client: Int32, _ bytes: [UInt8]) -> Bool {
        var sent = 0
        while sent < bytes.count {
            let more = unsafe bytes[sent...].withUnsafeBytes { unsafe send(client, $0.baseAddress, $0.count, Int32(MSG_NOSIGNAL)) }
            if more <= 0 { return false }
            sent += more
        }
        return true
    }
}
