import Bytes
import EventModel
import JSONText
import SchemaEvolution
import TestSupport
import Testing

@testable import Projections

@Test("the folds of random definitions over random events give the oracle's rows, and refuse the events that it refuses")
func foldsAsTheOracle() throws {
    var maker = RandomFolds(SeededGenerator.announced())
    let history = try Shop.history([Shop.v1])
    var (definitions, rows, refused) = (0, 0, 0)
    while definitions < 300 {
        let text = maker.definition()
        // Not all that is thrown together makes sense.
        let parsed = try JSONValue(parsing: Array(text.utf8).lent)
        let yaml =
            "key: \(parsed["key"]?.text ?? "")\n\(parsed["initial"].map { "initial: \($0.text)\n" } ?? "")on: \(parsed["on"]?.text ?? "")"
        let definition: Definition
        do { definition = try Shop.definitions(Shop.file(yaml), history).definition(named: "orders", at: SchemaVersion(1), history) } catch
        {
            continue
        }
        definitions += 1
        let events = (0 ..< 30).map { _ in maker.event() }
        let fold = try MemoryFold(definition, events, metadata: #"{"user":"ann"}"#)
        var oracle = NaiveFold(parsed)
        for (index, event) in events.enumerated() {
            oracle.fold(
                NaiveFold.Event(
                    type: event.type, payload: try JSONValue(parsing: Array(event.payload.utf8).lent), position: UInt64(index + 1),
                    metadata: .object([.init(name: "user", value: .string("ann"))])))
        }
        let made = try fold.rows.mapValues { try JSONValue(parsing: Array($0.utf8).lent).canonical() }
        let wanted = oracle.rows.mapValues { $0.canonical() }
        #expect(fold.refused.sorted() == oracle.refused.sorted(), "\(text)\n\(events)")
        #expect(made == wanted, "\(text)\n\(events)\n\(fold.rows)\n\(oracle.rows.mapValues(\.text))")
        if made != wanted || fold.refused.sorted() != oracle.refused.sorted() { return }
        (rows, refused) = (rows + made.count, refused + oracle.refused.count)
    }
    #expect(rows > 300 && refused > 100, "\(rows) rows and \(refused) refusals of \(definitions) definitions")
}
