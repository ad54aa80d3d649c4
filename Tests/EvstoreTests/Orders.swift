import Evstore
import EvstoreTesting
import Foundation
import TestSupport

/// The shop's read model, stores that are live at one of its versions, and orders as each version writes them.
enum Orders {
    static let projections = """
        evstore: 1
        projections:
          orders:
            - since: 1
              key: /id
              on:
                OrderPlaced: {set: {/total: /total, /state: {value: open}}}
                OrderPaid: {set: {/state: {value: paid}}}
            - since: 2
              key: /id
              on:
                OrderPlaced: {set: {/total: /cents, /state: {value: open}}}
                OrderPaid: {set: {/state: {value: paid}}}
            - since: 4
              key: /id
              on:
                OrderPlaced: {set: {/total: /cents, /state: {value: open}}}
                PaymentCaptured: {set: {/state: {value: paid}}}
                OrderVoided: delete
        """

    /// The first so many versions.
    static func schemas(_ count: Int = 5) throws -> Schemas {
        try SchemaFiles(versions: Array(ShopHistory.released.prefix(count)), projections: projections(through: count)).load()
    }

    private static func projections(through version: Int) -> String {
        let parts = projections.components(separatedBy: "    - since: ")
        return parts[0] + parts.dropFirst().filter { Int($0.prefix(1)) ?? 0 <= version }.map { "    - since: " + $0 }.joined()
    }

    /// A store live at `version`, with floor `floor`.
    static func store(at version: Int = 5, from floor: Int = 1, events: [NewEvent] = []) async throws -> TemporaryStore {
        try await TemporaryStore.make(try schemas(version), at: SchemaVersion(version), from: SchemaVersion(floor), events: events)
    }

    static func placed(_ id: String, at version: Int, eventID: String? = nil) throws(EvstoreError) -> NewEvent {
        let payload =
            switch version {
            case 1: #"{"id":"\#(id)","customer":"Ann","total":100}"#
            case 2, 3, 4: #"{"id":"\#(id)","customer":"Ann","cents":100,"currency":"USD"}"#
            default: #"{"id":"\#(id)","buyer":{"name":"Ann"},"cents":"100","currency":"USD"}"#
            }
        return try .event("order-\(id)", "OrderPlaced", payload, at: version, id: eventID)
    }
}
