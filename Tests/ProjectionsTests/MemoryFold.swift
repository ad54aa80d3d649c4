import Bytes
import EventModel
import Hashing
import JSONText
import SchemaEvolution

@testable import Projections

/// A shop in two versions: what most tests here fold.
enum Shop {
    static let v1 = """
        evstore: 1
        version: 1
        events:
          OrderPlaced:
            stream: "order-{/id}"
            required: [id, total]
            properties:
              id: {type: string}
              total: {type: number}
              customer: {type: string}
              placedAt: {type: string, format: date-time}
              tags: {type: array, items: {type: string}}
              lines: {type: array, items: {type: object, required: [sku, count], properties: {sku: {type: string}, count: {type: integer}}}}
              name: {type: object, properties: {first: {type: string}, last: {type: string}}}
              state: {type: string, enum: [open, paid, void]}
          OrderPaid: {stream: "order-{/id}", required: [id], properties: {id: {type: string}, method: {type: string}, amount: {type: number}}}
          OrderVoided: {stream: "order-{/id}", required: [id], properties: {id: {type: string}}}
        """
    static let v2 =
        v1.replacing("version: 1", with: "version: 2").replacing(
            "events:", with: "upcast:\n  - on: OrderPaid\n    do: [{add: {path: /source, value: web}}]\nevents:"
        ).replacing("amount: {type: number}", with: "amount: {type: number}, source: {type: string}").replacing(
            "required: [id], properties: {id: {type: string}, method",
            with: "required: [id, source], properties: {id: {type: string}, method")

    static func history(_ texts: [String] = [v1, v2]) throws -> History {
        try History(files: texts.enumerated().map { try VersionFile(text: Array($1.utf8), file: "v\($0 + 1).yaml") })
    }

    /// A projection file with one projection, `orders`, of one definition: what `definition` says.
    static func file(_ definition: String) -> String {
        let lines = definition.split(separator: "\n", omittingEmptySubsequences: false)
        return "evstore: 1\nprojections:\n  orders:\n    - since: 1\n" + lines.map { "      \($0)\n" }.joined()
    }

    static func definitions(_ text: String, _ history: History? = nil) throws -> DefinitionSet {
        try DefinitionSet.load(text: Array(text.utf8), file: "projections.yaml", history: try history ?? Shop.history())
    }

    static func definition(_ text: String, at version: Int = 1) throws -> Definition {
        try definitions(file(text)).definition(named: "orders", at: SchemaVersion(version), history())
    }
}

/// Folds events without a log, one after the other.
struct MemoryFold {
    private(set) var rows: [String: String] = [:]
    private(set) var errors: [String] = []
    /// The positions of what was refused.
    private(set) var refused: [UInt64] = []

    init(
        _ definition: Definition, _ events: [(type: String, payload: String)], time: String = "2026-01-02T03:04:05Z", metadata: String = ""
    ) throws {
        let fold = try definition.makeFold(.plain)
        var output = PreparedOperations(fold, keyBytesMax: 500)
        var workspace = FoldWorkspace()
        var store = RowStore()
        var keys: Set<String> = []
        for (index, event) in events.enumerated() {
            guard let rule = fold.rule(of: event.type) else { continue }
            var facts = EventFacts(epoch: .first, version: definition.version)
            (facts.position, facts.stream, facts.born) = (Position(UInt64(index + 1)), "order-7", SchemaVersion(1))
            (facts.time, facts.id) = (Timestamp(time) ?? Timestamp(microseconds: 0), EventID(unchecked: "e\(index)"))
            output.removeAll()
            let (payload, data) = (Array(event.payload.utf8), Array(metadata.utf8))
            let image = Image(type: event.type, typeIndex: 0, payload: payload.lent, part: 0)
            facts.take(image)
            output.prepare(facts, image, RuleCall(rule: rule, values: 0, metadata: data.lent), &workspace)
            errors += output.rejections.map(\.message)
            refused += output.rejections.map(\.position.rawValue)
            output.forEach { operation in
                let key = String(
                    decoding: [UInt8](copying: operation.slice(Operation.headerBytes, Operation.keyCount(operation))), as: UTF8.self)
                let bytes = Array(key.utf8)
                keys.insert(key)
                var row = store.find(bytes.lent, hash: Operation.hash(operation))
                if row < 0 { row = store.insert(bytes.lent, hash: Operation.hash(operation)) }
                do throws(FoldError) { try store.apply(operation, to: row, fold, &workspace) } catch {
                    errors.append(Rejection(operation, error).message)
                    refused.append(facts.position.rawValue)
                }
            }
        }
        for key in keys {
            let bytes = Array(key.utf8)
            let row = store.find(bytes.lent, hash: checksum(bytes.lent))
            var json = ByteBuffer()
            if store.render(row, fold, into: &json) { rows[key] = String(decoding: json.array(), as: UTF8.self) }
        }
    }

    /// Folds what a definition says at version 1.
    init(_ text: String, _ events: [(type: String, payload: String)], time: String = "2026-01-02T03:04:05Z", metadata: String = "") throws {
        try self.init(try Shop.definition(text), events, time: time, metadata: metadata)
    }
}
