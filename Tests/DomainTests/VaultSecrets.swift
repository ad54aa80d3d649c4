import Crypto
import Evstore
import EvstoreTesting
import Foundation
import Testing

/// Entries of a vault whose secrets were sealed by the application, as it seals them.
struct VaultSecrets {
    private let key = SymmetricKey(size: .bits256)
    let count: Int

    /// Imports them at version 1.
    func load(into temporary: TemporaryStore) async throws {
        var lines = ""
        for index in 0 ..< count {
            let secret = try #require(try AES.GCM.seal(Data("secret \(index)".utf8), using: key).combined).base64EncodedString()
            let category = ["", "work", "home"][index % 3]
            lines +=
                #"{"stream":"entry-\#(index)","type":"EntrySaved","data":{"id":"\#(index)","title":"Entry \#(index)","account":"a\#(index)","#
                + #""secret":"\#(secret)","category":"\#(category)","notes":"","createdAt":"2026-01-01T00:00:00Z"}}"# + "\n"
        }
        let file = try temporary.write(lines, to: "entries.jsonl")
        #expect(try await temporary.store.importLines(from: .file(file), as: SchemaVersion(1)).added == UInt64(count))
    }

    /// How many of them a store's read model gives back.
    func opened(in store: EventStore) async throws -> Int {
        var opened = 0
        try await store.query("entries") { row in
            let text = try #require(row.json.firstMatch(of: /"secret":"([^"]*)"/)?.1)
            // Entries of the fixtures hold no secret of ours.
            guard let number = Int(row.key), number < count else { return true }
            let sealed = try AES.GCM.SealedBox(combined: try #require(Data(base64Encoded: String(text))))
            if try AES.GCM.open(sealed, using: key) == Data("secret \(row.key)".utf8) { opened += 1 }
            return true
        }
        return opened
    }
}
