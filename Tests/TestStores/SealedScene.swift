internal import Bytes
package import EventLog
package import EventModel
package import EvstoreTesting
internal import Foundation
internal import LMDB
internal import Platform
internal import TestSupport

/// A log whose events are sealed, and what goes into it.
package struct SealedScene {
    package static let canary = "canary-7c1e"
    package static let secret = StoreSecret.key([UInt8](1 ... 32))

    package let directory: TemporaryDirectory
    package let options: Options
    package let log: EventLog

    package init(_ change: (inout Options) -> Void = { _ in }) throws {
        directory = try TemporaryDirectory()
        options = .small {
            $0.secret = Self.secret
            change(&$0)
        }
        log = try makeLog(directory, options)
    }

    /// Events of all kinds: short and long, of given ids and made ones, with metadata and shadows.
    package static func fill(_ log: EventLog, _ appends: Range<Int>, seed: UInt64 = 11) async throws {
        var random = SeededGenerator(seed: seed)
        for number in appends {
            let events = try (0 ..< Int.random(in: 1 ... 3, using: &random)).map { index in
                let long = String(repeating: "\(canary) ", count: number % 10 == 0 ? 700 : 1)
                var made = try event(
                    "s-\(number % 5)", #"{"n":"\#(number).\#(index)","text":"\#(long)"}"#, type: "type-\(number % 3)",
                    id: index == 0 ? "id-\(number)" : nil, metadata: number % 4 == 0 ? #"{"by":"\#(canary)"}"# : "")
                if number % 7 == 0 { made.shadow = Array("shadow \(canary)".utf8) }
                return made
            }
            _ = try await log.append(AppendRequest(events: events))
        }
    }

    /// Forgets one stream.
    package static func forget(_ stream: String, _ log: EventLog) throws -> ForgottenSubject? {
        var forgotten: ForgottenSubject?
        try log.forget([StreamName(stream)]) { forgotten = $1 }
        return forgotten
    }

    /// Every event with all of its parts.
    package static func parts(_ log: EventLog) throws -> [String] {
        var all: [String] = []
        try log.scan(after: .start) { block, _ in
            for index in block.indices {
                let record = block.record(index)
                all.append(
                    "\(record.position) \(record.revision) \(record.id) \(text(record.payload)) \(text(record.metadata)) \(text(record.shadow))"
                )
            }
            return true
        }
        return all
    }

    /// The files below a directory in which some bytes lie.
    package static func files(under path: String, with bytes: String) throws -> [String] {
        let names = FileManager.default.enumerator(atPath: path)?.compactMap { $0 as? String } ?? []
        return try names.filter { name in
            guard try Directory.ownStatus("\(path)/\(name)")?.isFile == true else { return false }
            return try Data(contentsOf: URL(filePath: "\(path)/\(name)")).range(of: Data(bytes.utf8)) != nil
        }
    }

    /// Each envelope in the log by what its key was derived from: the number of the data key, the salt, and where it stands.
    package static func uses(_ log: EventLog) throws -> [[UInt8]: [UInt8]] {
        var uses: [[UInt8]: [UInt8]] = [:]
        var scan = LogScan(log.access, log.options, after: .start, form: .sealed)
        while try log.access.environment.read({ transaction in
            try scan.runChunk(transaction) { block in
                var number: UInt64 = 0
                let place = bytes(block.epoch.rawValue) + bytes(block.first.rawValue)
                block.forEachEnvelope { bytes in
                    let envelope = [UInt8](copying: bytes)
                    uses[Array(envelope[4 ..< 8] + envelope[12 ..< 28]) + place + [UInt8(number % 256)]] = envelope
                    number += 1
                }
                return true
            }
        }) {}
        return uses
    }

    package func open(_ name: String) throws -> EventLog { try EventLog.open(at: "\(directory.path)/\(name)", options: options) }

    /// The value of each row of a catalogue, with a last byte of its own.
    package static let version = #"{"events":{"Paid":{"properties":{"name":{"personal":true}}}}}"#

    /// Makes two rows of one length in every table, and closes the log.
    package func fillEveryTable() async throws {
        for number in 0 ..< 12 {
            try await log.add(event("s-\(number % 3)", "\(number)", type: "type-\(number % 2)", id: "i-\(number)"))
        }
        for at in [10, 9] as [UInt64] {
            try await log.update { update in
                for catalogue in Catalogue.allCases {
                    let value = catalogue == .imports ? bytes(at - 8) + Array("mark".utf8) : Array(Self.version.utf8) + [UInt8(at)]
                    try update.put(catalogue, Array("\(at) of \(catalogue)".utf8), value)
                }
                try update.cut(to: Position(at))
            }
        }
        try await log.add(event("s-0", "after", type: "type-0"))
        try await log.add(event("s-1", "after", type: "type-1"))
        try await log.close()
        let again = try open("store")
        try await again.add(event("s-1", "after", type: "type-1"))
        try await again.close()
    }
}
