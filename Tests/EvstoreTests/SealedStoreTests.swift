import Evstore
import EvstoreTesting
import TestSupport
import Testing

@Suite("Sealed stores")
struct SealedStoreTests {
    private static let key = StoreSecret.key([UInt8](repeating: 0x4d, count: 32))
    private static let other = StoreSecret.key([UInt8](repeating: 0x5e, count: 32))

    private static func options(_ secret: StoreSecret?) -> Options {
        var options = Options.forTests
        options.secret = secret
        return options
    }

    private static func store(_ secret: StoreSecret? = key) async throws -> TemporaryStore {
        try await TemporaryStore.make(try Orders.schemas(), at: SchemaVersion(5), from: SchemaVersion(1), options: options(secret))
    }

    @Test("an append that is repeated is told from another one with its id, though what is stored is sealed")
    func repeated() async throws {
        let temporary = try await Self.store()
        let store = temporary.store
        let first = try await store.append([try Orders.placed("1", at: 5, eventID: "a")])
        let again = try await store.append([try Orders.placed("1", at: 5, eventID: "a")])
        #expect(!first.duplicate && again.duplicate && again.positions == first.positions)
        await #expect { try await store.append([try Orders.placed("2", at: 5, eventID: "a")]) } throws: {
            ($0 as? EvstoreError)?.code == "idReused"
        }
        #expect(try store.last().position == Position(1))
    }

    @Test("payload and metadata come back byte by byte, of one byte and of the most that there may be, at birth and at other versions")
    func bytes() async throws {
        let temporary = try await Self.store()
        let store = temporary.store
        let long = String(repeating: "é", count: 200_000)
        for (index, text) in ["1", long, "\\u0000", ""].enumerated() {
            _ = try await store.append([
                try .event(
                    "order-\(index)", "OrderPlaced", #"{ "id":"\#(index)", "buyer":{"name":"\#(text)"},"cents":"7","currency":"USD"}"#,
                    at: 5,
                    metadata: index == 2 ? nil : #"{"by": "\#(text)"}"#)
            ])
            let event = try #require(try store.read(try StreamName("order-\(index)")).first)
            #expect(event.json == #"{ "id":"\#(index)", "buyer":{"name":"\#(text)"},"cents":"7","currency":"USD"}"#)
            #expect(String(decoding: event.metadata, as: UTF8.self) == (index == 2 ? "" : #"{"by": "\#(text)"}"#))
            let older = try #require(try store.read(try StreamName("order-\(index)"), at: SchemaVersion(1)).first)
            #expect(older.json.contains(#""customer":"\#(text)""#) && older.json.contains(#""total":7"#))
        }
    }

    @Test("all that changes keys needs a store that has some, and may be written")
    func plain() async throws {
        func code(_ body: () async throws -> Void) async -> String? {
            do { try await body() } catch { return (error as? EvstoreError)?.code }
            return nil
        }
        let plain = try await Self.store(nil)
        #expect(plain.store.maintenance.keys().isEmpty)
        #expect(await code { _ = try await plain.store.maintenance.addKey(Self.other) } == "keysRefused")
        #expect(await code { _ = try await plain.store.maintenance.rotateKey() } == "keysRefused")
        let sealed = try await Self.store()
        let reading = try await sealed.open(readOnly: true)
        #expect(await code { _ = try await reading.maintenance.addKey(Self.other) } == "readOnly")
        #expect(await code { _ = try await sealed.store.maintenance.addKey(.key([1, 2])) } == "usage")
        #expect(await code { _ = try await sealed.store.maintenance.addKey(Self.other, derivation: .scrypt) } == "usage")
        #expect(await code { _ = try await sealed.store.maintenance.addKey(Self.other, label: "a\nb") } == "usage")
        #expect(
            await code { _ = try await sealed.store.maintenance.addKey(Self.other, label: String(repeating: "é", count: 21)) } == "usage")
        #expect(sealed.store.maintenance.keys().map(\.kind) == [.slot, .data])
        _ = try await sealed.store.maintenance.addKey(Self.other)
        #expect(await code { _ = try await sealed.store.maintenance.addKey(Self.other) } == "usage", "it opens a slot already")
        for byte in UInt8(1) ... 6 { _ = try await sealed.store.maintenance.addKey(.key([UInt8](repeating: byte, count: 32))) }
        #expect(await code { _ = try await sealed.store.maintenance.addKey(.key([UInt8](repeating: 7, count: 32))) } == "usage")
        try await reading.close()
    }

    @Test("a store sealed anew has the events, positions, ids and read models of the old one, and a life of its own")
    func recipher() async throws {
        let temporary = try await Self.store()
        let store = temporary.store
        for index in 1 ... 40 {
            _ = try await store.append([
                try Orders.placed("\(index)", at: 5),
                try .event(
                    "order-\(index)", "PaymentCaptured", #"{"id":"\#(index)","method":"card"}"#, at: 5, metadata: #"{"n":\#(index)}"#),
            ])
            _ = try await store.append([try Orders.placed("\(index)", at: 5, eventID: "id-\(index)")])
            if index == 20 { _ = try await store.maintenance.rotateKey(suite: .cbcWithHMAC) }
        }
        func events(_ store: EventStore) throws -> [String] {
            var lines: [String] = []
            try store.readAll { event in
                lines.append(String(decoding: store.line(event), as: UTF8.self).replacing(#/,"epoch":\d+/#, with: ""))
                return true
            }
            return lines
        }
        let path = temporary.path + "-anew"
        let made = try await store.maintenance.recipher(into: path, secret: Self.other)
        #expect(made.position == Position(120))
        let anew = try await EventStore.open(path, options: Self.options(Self.other))
        #expect(try events(anew) == events(store))
        #expect(try await anew.append([try Orders.placed("2", at: 5, eventID: "id-2")]).duplicate)
        #expect(try await anew.append([try Orders.placed("41", at: 5)]).positions == 121 ... 121)
        _ = try await anew.rollback(to: SchemaVersion(1))
        #expect(try await anew.maintenance.verify(deep: true).ok)
        #expect(try store.last().position == Position(120))
        try await anew.close()
        let same = try await EventStore.open(path, options: Self.options(Self.other))
        #expect(try same.last().position == Position(121))
        try await same.close()
        await #expect { _ = try await store.maintenance.recipher(into: path, secret: Self.other) } throws: {
            ($0 as? EvstoreError)?.code == "storeExists"
        }
    }

    @Test("a recipher that is interrupted leaves nothing")
    func interrupted() async throws {
        let temporary = try await Self.store()
        for index in 1 ... 10 { _ = try await temporary.store.append([try Orders.placed("\(index)", at: 5)]) }
        let path = temporary.path + "-anew"
        await #expect {
            try await inCancelledTask { _ = try await temporary.store.maintenance.recipher(into: path, secret: nil) }
        } throws: {
            ($0 as? EvstoreError)?.code == "interrupted"
        }
        await #expect { _ = try await EventStore.open(path) } throws: { ($0 as? EvstoreError)?.code == "storeNotFound" }
    }

    @Test("the description of a secret does not contain it")
    func silent() {
        let secret = StoreSecret.passphrase(Array("hunter2hunter2".utf8))
        var options = Options()
        options.secret = secret
        var dumped = ""
        dump(options, to: &dumped)
        let words = "hunter2hunter2".utf8.map { "\($0)" }
        for text in ["\(secret)", String(reflecting: secret), "\(options)", String(reflecting: options), dumped] {
            #expect(!text.contains("hunter2") && !text.contains(words.prefix(4).joined(separator: ", ")), "\(text)")
            #expect(!text.split(separator: "\n").contains { $0.hasSuffix("- 104") }, "\(text)")
        }
    }
}
