internal import CTestSupport
internal import Glibc
internal import Platform

/// Stands between a client and PostgreSQL, and changes what the server answers, at random: columns, types, nulls, lengths, numbers at their
/// extremes, whole messages. It keeps to the protocol's frame most of the time, so that a lie arrives where it hurts.
package final class LyingProxy: Sendable {
    package let port: Int
    private let target: Int
    private let listener: Int32
    private let lies = Monitor<Lies?>(nil)

    fileprivate struct Lies {
        var generator: SeededGenerator
        let oneIn: Int
        /// How many are still told.
        var left: Int
    }

    package init(to port: Int) throws {
        target = port
        (listener, self.port) = try FaultyProxy.listen()
        let listener = listener
        _ = try WorkerThread.start("liar") { [weak self] in
            while true {
                let client = test_accept(listener)
                guard client >= 0, let self else { return }
                self.take(client)
            }
        }
    }

    deinit { shutdown(listener, Int32(SHUT_RDWR)) }

    /// From now on one message of so many is a lie, a few times; none where `generator` is nil.
    package func lie(_ generator: SeededGenerator?, oneIn: Int = 1, times: Int = 3) {
        lies.withLock { $0 = generator.map { Lies(generator: $0, oneIn: oneIn, left: times) } }
    }

    private func take(_ client: Int32) {
        let server = FaultyProxy.connect(to: target)
        do {
            let answers = try WorkerThread.start("answers") {
                var liar = Liar()
                FaultyProxy.carry(from: server, to: client) { bytes in
                    self.lies.withLock { lies in
                        guard var made = lies else { return .more(liar.pass(bytes)) }
                        defer { lies = made }
                        let changed = liar.change(bytes, &made)
                        // Who waits for the rest of a message would wait for ever.
                        return liar.hasCut ? .last(changed) : .more(changed)
                    }
                }
            }
            _ = try WorkerThread.start("requests") {
                FaultyProxy.carry(from: client, to: server) { .more($0) }
                answers.join()
                close(client)
                close(server)
            }
        } catch {
            close(client)
            close(server)
        }
    }
}

/// Changes the messages of one connection.
private struct Liar {
    private var rest: [UInt8] = []
    private var hasBegun = false
    /// Whether the client is let in: it would try again elsewhere before that.
    private var isReady = false
    /// Which column of this answer goes, of the rows as of what describes them.
    private var dropped: Int?
    /// Whether a message was told that is not whole.
    private(set) var hasCut = false

    mutating func pass(_ bytes: [UInt8]) -> [UInt8] {
        defer { rest = [] }
        return rest + bytes
    }

    mutating func change(_ bytes: [UInt8], _ lies: inout LyingProxy.Lies) -> [UInt8] {
        // Whether TLS is spoken is answered by one byte, before the first message.
        if !hasBegun, bytes.count == 1 { return bytes }
        hasBegun = true
        rest += bytes
        var result: [UInt8] = []
        while rest.count >= 5 {
            let size = rest[1 ..< 5].reduce(0) { $0 << 8 | Int($1) } + 1
            guard size >= 5, rest.count >= size else { break }
            let message = Array(rest[..<size])
            rest.removeFirst(size)
            result += changed(message[0], Array(message[5...]), &lies)
        }
        return result
    }

    private mutating func changed(_ type: UInt8, _ body: [UInt8], _ lies: inout LyingProxy.Lies) -> [UInt8] {
        let isLie = isReady && lies.left > 0 && Int.random(in: 0 ..< lies.oneIn, using: &lies.generator) == 0
        isReady = isReady || type == UInt8(ascii: "Z")
        if isLie { lies.left -= 1 }
        switch type {
        case UInt8(ascii: "T"):
            dropped = nil
            guard isLie, let count = body.first(2) else { return Self.message(type, body) }
            return Self.message(type, described(body, count, &lies.generator))
        case UInt8(ascii: "D"):
            guard isLie || dropped != nil else { return Self.message(type, body) }
            return row(body, isLie: isLie, &lies.generator)
        default: return isLie ? other(type, body, &lies.generator) : Self.message(type, body)
        }
    }

    /// A description of columns with one less, or of another type or format.
    private mutating func described(_ body: [UInt8], _ count: Int, _ generator: inout SeededGenerator) -> [UInt8] {
        var columns: [[UInt8]] = []
        var offset = 2
        while offset < body.count, columns.count < count {
            guard let end = body[offset...].firstIndex(of: 0), end + 18 < body.count else { break }
            columns.append(Array(body[offset ... end + 18]))
            offset = end + 19
        }
        guard !columns.isEmpty else { return body }
        let index = Int.random(in: 0 ..< columns.count, using: &generator)
        switch Int.random(in: 0 ..< 4, using: &generator) {
        case 0:
            columns.remove(at: index)
            dropped = index
        case 1:
            let types: [UInt8] = [16, 17, 20, 21, 23, 25, 0]
            columns[index][columns[index].count - 9] = types.randomElement(using: &generator) ?? 0
        case 2: columns[index][columns[index].count - 1] ^= 1
        default:
            columns.insert(columns[index], at: 0)
        }
        return Self.big(columns.count, 2) + columns.joined()
    }

    /// A row with a value that is null, at an extreme, shorter, longer; several of it, or none.
    private func row(_ body: [UInt8], isLie: Bool, _ generator: inout SeededGenerator) -> [UInt8] {
        guard let count = body.first(2) else { return Self.message(68, body) }
        var values: [[UInt8]?] = []
        var offset = 2
        while offset + 4 <= body.count, values.count < count {
            let size = Int(Int32(truncatingIfNeeded: body[offset ..< offset + 4].reduce(0) { $0 << 8 | Int($1) }))
            values.append(size < 0 ? nil : Array(body[(offset + 4)...].prefix(size)))
            offset += 4 + max(size, 0)
        }
        if let dropped, values.indices.contains(dropped) { values.remove(at: dropped) }
        var copies = 1
        if isLie, let index = values.indices.randomElement(using: &generator) {
            switch Int.random(in: 0 ..< 8, using: &generator) {
            case 0: values[index] = nil
            case 1: values[index] = values[index].map { Array($0.dropLast()) }
            case 2: values[index] = values[index].map { $0 + [0] }
            case 3: copies = [0, 2, 3_000].randomElement(using: &generator) ?? 0
            default: values[index] = values[index].map { extreme($0, &generator) }
            }
        }
        let row = Self.message(
            68, Self.big(values.count, 2) + values.flatMap { value in value.map { Self.big($0.count, 4) + $0 } ?? Self.big(-1, 4) })
        return Array(repeatElement(row, count: copies).joined())
    }

    /// A number of 8 bytes somewhere in a value, at an extreme of one order or the other.
    private func extreme(_ value: [UInt8], _ generator: inout SeededGenerator) -> [UInt8] {
        var value = value
        if value.count < 8 { return value.map { _ in UInt8.random(in: 0 ... 255, using: &generator) } }
        let numbers: [UInt64] = [0, 1, .max, .max - 1, 1 << 63, 1 << 63 - 1, 1 << 62, 1 << 62 + 1, 1 << 32, 1 << 32 - 1, 99]
        var number = numbers.randomElement(using: &generator) ?? 0
        if Bool.random(using: &generator) { number = number.byteSwapped }
        // The head of a frame has its numbers in its first bytes.
        let place = min(Int.random(in: 0 ..< 9, using: &generator) * 8, value.count - 8)
        for index in 0 ..< 8 { value[place + index] = UInt8(truncatingIfNeeded: number >> (56 - 8 * index)) }
        return value
    }

    private mutating func other(_ type: UInt8, _ body: [UInt8], _ generator: inout SeededGenerator) -> [UInt8] {
        let message = Self.message(type, body)
        let kind = Int.random(in: 0 ..< 8, using: &generator)
        // Without the end of an answer the client would wait for it, too.
        hasCut = [0, 2, 3, 4].contains(kind) || [UInt8(ascii: "R"), UInt8(ascii: "Z")].contains(type)
        switch kind {
        case 0: return []
        case 1: return message + message
        case 2: return Array(message.dropLast())
        case 3: return Self.message(UInt8.random(in: 32 ... 126, using: &generator), body)
        case 4: return [type] + Self.big([0, 3, 5, 1 << 20, Int(Int32.max), -1].randomElement(using: &generator) ?? 0, 4) + body
        case 5: return Self.message(type, body.map { _ in UInt8.random(in: 0 ... 255, using: &generator) })
        case 6:
            let states = ["42501", "42P01", "42703", "40001", "23505", "25006", "26000", "XXXXX", ""]
            let state = states.randomElement(using: &generator) ?? ""
            return Self.message(69, Array("SERROR\0VERROR\0C\(state)\0M\(String(repeating: "no ", count: 30_000))\0\0".utf8))
        default: return Self.message(67, Array("INSERT 0 99999999999999999999\0".utf8))
        }
    }

    private static func big(_ number: Int, _ bytes: Int) -> [UInt8] {
        (0 ..< bytes).map { UInt8(truncatingIfNeeded: number >> (8 * (bytes - 1 - $0))) }
    }

    private static func message(_ type: UInt8, _ body: [UInt8]) -> [UInt8] { [type] + big(body.count + 4, 4) + body }
}

extension [UInt8] {
    /// The number in the first bytes; nil where there are less.
    fileprivate func first(_ bytes: Int) -> Int? { count < bytes ? nil : prefix(bytes).reduce(0) { $0 << 8 | Int($1) } }
}
