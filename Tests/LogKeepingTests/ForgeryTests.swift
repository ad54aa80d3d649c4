import Bytes
import EventLog
import EventModel
import EvstoreTesting
import Foundation
import TestStores
import TestSupport
import Testing
import Torturing

@testable import LogKeeping
@testable import Migration

/// A log of forty appends, a cut and seven more, closed; and its end, signed.
private final class SignedStore: Sendable {
    private let directory: TemporaryDirectory
    let head: SignedHead

    var path: String { directory.store }

    init() async throws {
        let store = try OrdersStore(options: .forgeries)
        directory = try TemporaryDirectory()
        for order in 1 ... 40 {
            try await store.place(order % 9, amount: "\(order)", born: 1)
            if order % 3 == 0 { try await store.pay(order % 9, born: 1) }
        }
        try await store.log.update { try $0.cut(to: Position($0.last.position.rawValue - 5)) }
        for order in 41 ... 47 { try await store.place(order % 9, amount: "\(order)", born: 1) }
        let report = try Verify.run(store.context(), deep: true, laws: false, signing: SigningKey.ofTests)
        head = try #require(report.head)
        try await store.log.close()
        try FileManager.default.copyItem(atPath: store.directory + "/store", toPath: path)
    }

    /// The findings of a deep verification of a copy that `forge` has rewritten, and of its comparison with the head.
    func findings(keepsEpochs: Bool = false, _ forge: (inout Forgery) -> Void) throws -> (deep: [Finding], since: [Finding]) {
        let copy = directory.path + "/" + UUID().uuidString
        defer { do { try FileManager.default.removeItem(atPath: copy) } catch {} }
        try FileManager.default.copyItem(atPath: path, toPath: copy)
        var forgery = try Forgery(of: copy)
        forge(&forgery)
        try forgery.write(keepsEpochs: keepsEpochs)
        let log = try EventLog.open(at: copy, options: .forgeries, readOnly: true)
        let walk = try log.walk(deep: true, asking: head.position)
        return (walk.findings, walk.findings.isEmpty ? head.findings(walk) : [])
    }
}

extension SigningKey {
    static var ofTests: SigningKey { get throws { try SigningKey(parsing: Array(String(repeating: "5a", count: 32).utf8)) } }
}

extension Options {
    fileprivate static var forgeries: Options {
        var options = Options()
        (options.mapBytes, options.ballastBytes) = (1 << 26, 0)
        return options
    }
}

@Suite("A log that was rewritten with valid checksums and links")
struct ForgeryTests {
    @Test("matches the signed head where no value was changed: every byte is as before")
    func same() async throws {
        let store = try await SignedStore()
        let (deep, since) = try store.findings { _ in }
        #expect(deep == [] && since == [])
    }

    @Test("with one change passes a deep verification, and never matches the signed head")
    func changed() async throws {
        let store = try await SignedStore()
        let environment = ProcessInfo.processInfo.environment
        let count = environment["EVSTORE_FORGERIES"].flatMap { Int($0) } ?? 300
        let seed = environment["EVSTORE_SEED"].flatMap { UInt64($0) } ?? UInt64.random(in: 0 ... UInt64(UInt32.max))
        var done: [Forgery.Edit: Int] = [:]
        for number in 0 ..< count {
            var random = SeededGenerator(seed: seed &+ UInt64(number))
            let edit = Forgery.Edit.allCases[Int((seed &+ UInt64(number)) % UInt64(Forgery.Edit.allCases.count))]
            var isChanged = false
            let (deep, since) = try store.findings { isChanged = edit.apply(to: &$0, &random) }
            let place: Comment = "EVSTORE_SEED=\(seed &+ UInt64(number)), \(edit)"
            #expect(deep == [], place)
            #expect(since.map(\.id) == (isChanged ? [edit.finding] : []), place)
            if isChanged { done[edit, default: 0] += 1 }
        }
        #expect(count < 100 || done.count == Forgery.Edit.allCases.count, "seed \(seed): some change was never made: \(done)")
    }

    @Test("with a change before a cut, and the old links behind the cut, has a broken chain")
    func joined() async throws {
        let store = try await SignedStore()
        let same = try store.findings(keepsEpochs: true) { _ in }
        #expect(same.deep == [] && same.since == [])
        let (deep, _) = try store.findings(keepsEpochs: true) { $0.blocks[3].entries[0].event.payload = Array("{}".utf8) }
        #expect(deep.map(\.id) == ["STORE003"], "the end's link is what was signed")
    }

    @Test("only behind the signed position matches the signed head, which does not cover those events")
    func later() async throws {
        let store = try await SignedStore()
        let (deep, since) = try store.findings { forgery in
            var last = forgery.blocks[forgery.blocks.count - 1]
            last.entries = last.entries.map { entry in
                var copy = entry
                copy.madeID = EventID(uuid: (9, 9))
                return copy
            }
            forgery.blocks.append(last)
        }
        #expect(deep == [] && since == [])
    }
}
