internal import Bytes
internal import CTestSupport
internal import Glibc
internal import Platform

/// Stands between a node and PostgreSQL, and breaks one message where it is told to.
package final class FaultyProxy: Sendable {
    package enum Fault: Sendable, CaseIterable {
        /// The statement never reaches the server.
        case dropsRequest
        /// A part of it does.
        case cutsRequest
        /// The server carries it out, and nobody hears of it.
        case dropsAnswer
        /// A part of the answer arrives.
        case cutsAnswer
        /// The client has lost the connection when the statement sets out.
        case sendsLate
        /// Nothing moves any more, and nothing is closed.
        case hangs
    }

    private struct State {
        var fault: Fault?
        /// Whether everything else is refused from the moment of the fault on.
        var isLast = false
        var isRefusing = false
        var broken = 0
        var open: [Int32] = []
    }

    package let port: Int
    private let target: Int
    private let listener: Int32
    private let state = Monitor(State())
    /// A message that has these words is the one that is broken.
    private let words: [UInt8]

    package init(to port: Int, breaking words: String = "evstore_add") throws {
        (target, self.words) = (port, Array(words.utf8))
        (listener, self.port) = try Self.listen()
        let listener = listener
        _ = try WorkerThread.start("proxy") { [weak self] in
            while true {
                let client = test_accept(listener)
                guard client >= 0, let self else { return }
                self.take(client)
            }
        }
    }

    deinit { shutdown(listener, Int32(SHUT_RDWR)) }

    /// Breaks the next message that has the words.
    /// - Parameter thenRefusing: whether all other connections end in the same moment, and none is taken any more.
    package func arm(_ fault: Fault?, thenRefusing: Bool = false) { state.withLock { ($0.fault, $0.isLast) = (fault, thenRefusing) } }

    /// How many messages were broken.
    package var broken: Int { state.withLock { $0.broken } }

    /// Ends all connections, and takes no others until it is told to.
    package func refuse(_ isRefusing: Bool) {
        state.withLock { state in
            state.isRefusing = isRefusing
            if isRefusing { Self.end(&state.open) }
        }
    }

    /// Ends connections, except some.
    private static func end(_ open: inout [Int32], except kept: [Int32] = []) {
        for descriptor in open where !kept.contains(descriptor) { shutdown(descriptor, Int32(SHUT_RDWR)) }
        open.removeAll { !kept.contains($0) }
    }

    private func take(_ client: Int32) {
        let server = Self.connect(to: target)
        let isTaken = state.withLock { state in
            if state.isRefusing || server < 0 { return false }
            state.open += [client, server]
            return true
        }
        guard isTaken else {
            close(client)
            if server >= 0 { close(server) }
            return
        }
        let broken = Monitor<Fault?>(nil)
        do {
            let answers = try WorkerThread.start("answers") { Self.pump(from: server, to: client) { self.answer($0, broken) } }
            _ = try WorkerThread.start("requests") {
                Self.pump(from: client, to: server) { self.request($0, broken, client, server) }
                answers.join()
                self.state.withLock { state in state.open.removeAll { $0 == client || $0 == server } }
                close(client)
                close(server)
            }
        } catch {
            close(client)
            close(server)
        }
    }

    /// How much of a request goes on; nil ends the connection.
    private func request(_ bytes: [UInt8], _ broken: Monitor<Fault?>, _ client: Int32, _ server: Int32) -> Int? {
        guard let fault = fault(for: bytes, keeping: [client, server]) else { return bytes.count }
        broken.withLock { $0 = fault }
        switch fault {
        case .dropsRequest: return nil
        case .cutsRequest: return bytes.count / 2
        case .dropsAnswer, .cutsAnswer: return bytes.count
        case .sendsLate:
            shutdown(client, Int32(SHUT_RDWR))
            usleep(UInt32.random(in: 0 ... 30_000))
            return bytes.count
        case .hangs:
            usleep(1_500_000)
            return nil
        }
    }

    private func fault(for bytes: [UInt8], keeping own: [Int32]) -> Fault? {
        guard state.withLock({ $0.fault }) != nil, bytes.firstRange(of: words) != nil else { return nil }
        return state.withLock { state in
            defer { state.fault = nil }
            if state.fault != nil { state.broken += 1 }
            if state.fault != nil, state.isLast {
                state.isRefusing = true
                Self.end(&state.open, except: own)
            }
            return state.fault
        }
    }

    private func answer(_ bytes: [UInt8], _ broken: Monitor<Fault?>) -> Int? {
        switch broken.withLock({ $0 }) {
        case nil: bytes.count
        case .cutsAnswer: min(bytes.count, 5)
        default: nil
        }
    }

    /// Carries what comes from one socket to the other; less than all ends both.
    private static func pump(from source: Int32, to target: Int32, _ allowed: ([UInt8]) -> Int?) {
        carry(from: source, to: target) { bytes in
            let wanted = allowed(bytes) ?? 0
            return wanted < bytes.count ? .last(Array(bytes[..<wanted])) : .more(bytes)
        }
    }

    enum Carried {
        case more([UInt8])
        /// Both sockets end behind it.
        case last([UInt8])
    }

    /// Carries what `change` makes of what comes from one socket to the other.
    static func carry(from source: Int32, to target: Int32, _ change: ([UInt8]) -> Carried) {
        var buffer = [UInt8](repeating: 0, count: 1 << 18)
        var isLast = false
        while !isLast {
            let count = unsafe read(source, &buffer, buffer.count)
            if count <= 0 { break }
            let bytes: [UInt8]
            switch change(Array(buffer[..<count])) {
            case .more(let changed): bytes = changed
            case .last(let changed): (bytes, isLast) = (changed, true)
            }
            var sent = 0
            while sent < bytes.count {
                let more = unsafe bytes[sent...].withUnsafeBytes { unsafe send(target, $0.baseAddress, $0.count, Int32(MSG_NOSIGNAL)) }
                if more <= 0 { break }
                sent += more
            }
            if sent < bytes.count { break }
        }
        shutdown(source, Int32(SHUT_RDWR))
        shutdown(target, Int32(SHUT_RDWR))
    }

    private static func address(_ port: Int) -> sockaddr_in {
        var address = sockaddr_in()
        address.sin_family = sa_family_t(AF_INET)
        address.sin_port = in_port_t(UInt16(port)).bigEndian
        address.sin_addr.s_addr = UInt32(0x7f00_0001).bigEndian
        return address
    }

    private static func socket() -> Int32 { Glibc.socket(AF_INET, Int32(SOCK_STREAM.rawValue) | Int32(SOCK_CLOEXEC.rawValue), 0) }

    static func connect(to port: Int) -> Int32 {
        let descriptor = socket()
        var address = address(port)
        let code = unsafe withUnsafeMutablePointer(to: &address) { pointer in
            unsafe pointer.withMemoryRebound(to: sockaddr.self, capacity: 1) { pointer in
                unsafe Glibc.connect(descriptor, pointer, socklen_t(MemoryLayout<sockaddr_in>.size))
            }
        }
        if code == 0 { return descriptor }
        close(descriptor)
        return -1
    }

    static func listen() throws -> (Int32, Int) {
        let descriptor = socket()
        var address = address(0)
        var size = socklen_t(MemoryLayout<sockaddr_in>.size)
        let code = unsafe withUnsafeMutablePointer(to: &address) { pointer in
            unsafe pointer.withMemoryRebound(to: sockaddr.self, capacity: 1) { pointer in
                unsafe bind(descriptor, pointer, size) == 0 && Glibc.listen(descriptor, 64) == 0
                    ? getsockname(descriptor, pointer, &size) : -1
            }
        }
        guard code == 0 else {
            let failure = SystemFailure(code: errno)
            close(descriptor)
            throw failure
        }
        return (descriptor, Int(UInt16(bigEndian: address.sin_port)))
    }
}
