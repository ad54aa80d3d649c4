import Bytes
import EventLog
import EventModel
import Foundation
import LMDB
import TestStores
import Testing

@testable import Migration
@testable import Projections

@Suite("Read models of a sealed store that lie in the clear")
struct SealedModelTests {
    /// Writes the read models anew as a program did that sealed none.
    private func unseal(_ store: OrdersStore) throws {
        for name in store.generations {
            let directory = Generation.home(in: store.log.path) + "/" + name
            let environment = try Environment.open(directory: directory, Generation.configuration(store.log.options))
            defer { environment.close() }
            let (keys, note) = (try store.log.modelKeys(of: name, in: directory), DamageNote(directory))
            for table in [GenerationTable.meta, .rows] {
                let sealed = try CheckedTable(table, of: environment, format: 4, keys, note)
                let plain = try CheckedTable(table, of: environment, format: 2, nil, note)
                var rows: [(key: [UInt8], text: [UInt8])] = []
                try environment.read { transaction in
                    try sealed.forEach(transaction) { key, text in
                        rows.append(([UInt8](copying: key), [UInt8](copying: text)))
                        return true
                    }
                }
                let all = rows.map { row in
                    (row.key, Array(String(decoding: row.text, as: UTF8.self).replacing(#""format":4"#, with: #""format":2"#).utf8))
                }
                try environment.write { transaction in for (key, text) in all { try plain.put(key.lent, text.lent, &transaction) } }
            }
        }
    }

    private func marked(_ store: OrdersStore) throws -> [String] {
        try store.generations.filter { name in
            let data = try Data(contentsOf: URL(filePath: Generation.home(in: store.log.path) + "/\(name)/data.mdb"))
            return data.range(of: Data("c4n4ry".utf8)) != nil
        }
    }

    @Test("are not answered from, are built anew by the next query, and are removed then")
    func builtAnew() async throws {
        var options = Options()
        options.secret = .key([UInt8](1 ... 32))
        let store = try OrdersStore(options: options)
        try await store.place(1, name: "c4n4ry", born: 1)
        try await MissingGenerations.build(store.context(), at: SchemaVersion(1))
        let (before, digests) = (store.generations, try store.liveDigests())
        #expect(try !before.isEmpty && marked(store).isEmpty)
        try unseal(store)
        #expect(try !marked(store).isEmpty)
        let context = store.context()
        #expect(try GenerationSet.findings(context, store.state, deep: false).map(\.id) == before.map { _ in "STORE014" })
        #expect(try GenerationSet.registered(context, at: SchemaVersion(1), store.state).present.isEmpty)
        try await MissingGenerations.build(context, at: SchemaVersion(1))
        #expect(try Set(store.generations).isDisjoint(with: before) && marked(store).isEmpty)
        #expect(try store.liveDigests() == digests && store.row("1", of: "orders")?.contains("c4n4ry") == true)
    }
}
