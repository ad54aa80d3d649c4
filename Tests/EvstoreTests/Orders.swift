import Evstore
import EvstoreTesting
import TestSupport

/// Stores of the shop that are live at one of its versions, and orders as each version writes them.
enum Orders {
    /// The first so many versions.
    static func schemas(_ count: Int = 5) throws -> Schemas {
        try SchemaFiles(versions: Array(ShopHistory.released.prefix(count)), projections: ShopHistory.projections(through: count)).load()
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
