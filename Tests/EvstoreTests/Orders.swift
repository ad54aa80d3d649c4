import Evstore
import EvstoreTesting
import Foundation

/// Five versions of orders: a member renamed and one added, another renamed, a type added and one renamed, numbers as text
/// and a method that older versions can't see.
enum Orders {
    static let v1 = """
        evstore: 1
        version: 1
        labels: [1.0.0]
        released: 2026-01-01
        events:
          OrderPlaced:
            stream: "order-{/id}"
            required: [id, customer, total]
            properties:
              id: {type: string}
              customer: {type: string}
              total: {type: integer, minimum: 0}
          OrderPaid:
            stream: "order-{/id}"
            required: [id, method]
            properties:
              id: {type: string}
              method: {type: string, enum: [card, cash]}
        """

    static let v2 = """
        evstore: 1
        version: 2
        labels: [1.1.0]
        released: 2026-02-01
        upcast:
          - on: OrderPlaced
            do:
              - move: {from: /total, path: /cents}
              - add: {path: /currency, value: USD}
        events:
          OrderPlaced:
            stream: "order-{/id}"
            required: [id, customer, cents, currency]
            properties:
              id: {type: string}
              customer: {type: string}
              cents: {type: integer, minimum: 0}
              currency: {type: string, enum: [USD, EUR]}
          OrderPaid:
            stream: "order-{/id}"
            required: [id, method]
            properties:
              id: {type: string}
              method: {type: string, enum: [card, cash]}
        """

    static let v3 = """
        evstore: 1
        version: 3
        labels: [1.2.0]
        released: 2026-03-01
        upcast:
          - on: OrderPlaced
            do:
              - move: {from: /customer, path: /buyer/name}
        events:
          OrderPlaced:
            stream: "order-{/id}"
            required: [id, buyer, cents, currency]
            properties:
              id: {type: string}
              buyer: {type: object, required: [name], properties: {name: {type: string}}}
              cents: {type: integer, minimum: 0}
              currency: {type: string, enum: [USD, EUR]}
          OrderPaid:
            stream: "order-{/id}"
            required: [id, method]
            properties:
              id: {type: string}
              method: {type: string, enum: [card, cash]}
        """

    static let v4 = """
        evstore: 1
        version: 4
        labels: [2.0.0]
        released: 2026-04-01
        upcast:
          - rename-event: {from: OrderPaid, to: PaymentCaptured}
          - add-event: {type: OrderVoided, down: {hide: "version 3 never voids"}}
        events:
          OrderPlaced:
            stream: "order-{/id}"
            required: [id, buyer, cents, currency]
            properties:
              id: {type: string}
              buyer: {type: object, required: [name], properties: {name: {type: string}}}
              cents: {type: integer, minimum: 0}
              currency: {type: string, enum: [USD, EUR]}
          PaymentCaptured:
            stream: "order-{/id}"
            required: [id, method]
            properties:
              id: {type: string}
              method: {type: string, enum: [card, cash]}
          OrderVoided:
            stream: "order-{/id}"
            required: [id]
            properties:
              id: {type: string}
        """

    static let v5 = """
        evstore: 1
        version: 5
        labels: [2.1.0]
        upcast:
          - on: OrderPlaced
            do:
              - convert: {path: /cents, to: string, using: integer-text}
          - on: PaymentCaptured
            do:
              - allow: {path: /method, down: block}
        events:
          OrderPlaced:
            stream: "order-{/id}"
            required: [id, buyer, cents, currency]
            properties:
              id: {type: string}
              buyer: {type: object, required: [name], properties: {name: {type: string}}}
              cents: {type: string}
              currency: {type: string, enum: [USD, EUR]}
          PaymentCaptured:
            stream: "order-{/id}"
            required: [id, method]
            properties:
              id: {type: string}
              method: {type: string, enum: [card, cash, coins]}
          OrderVoided:
            stream: "order-{/id}"
            required: [id]
            properties:
              id: {type: string}
        """

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
        try SchemaFiles(versions: Array([v1, v2, v3, v4, v5].prefix(count)), projections: projections(through: count)).load()
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
            case 2: #"{"id":"\#(id)","customer":"Ann","cents":100,"currency":"USD"}"#
            case 3, 4: #"{"id":"\#(id)","buyer":{"name":"Ann"},"cents":100,"currency":"USD"}"#
            default: #"{"id":"\#(id)","buyer":{"name":"Ann"},"cents":"100","currency":"USD"}"#
            }
        return try .event("order-\(id)", "OrderPlaced", payload, at: version, id: eventID)
    }
}
