import Foundation

/// A shop in five versions: a member that is renamed and one that comes, a text that becomes a number, which not every text is, a type that
/// is renamed and one that comes, and at last a member that moves into another, numbers as text and a method that older versions can't see.
package enum ShopHistory {
    package static let versions = [v1, v2, v3, v4, v5]

    /// The same, all of which but the newest are released.
    package static let released = versions.enumerated().map { index, text in
        index == versions.count - 1 ? text : text.replacing("\nlabels:", with: "\nreleased: 2026-0\(index + 1)-01\nlabels:")
    }

    package static let v1 = """
        evstore: 1
        version: 1
        labels: [1.0.0]
        events:
          OrderPlaced:
            stream: "order-{/id}"
            required: [id, customer, total]
            properties:
              id: {type: string}
              customer: {type: string}
              total: {type: integer, minimum: 0}
              code: {type: string}
          OrderPaid:
            stream: "order-{/id}"
            required: [id]
            properties:
              id: {type: string}
              method: {type: string, enum: [card, cash]}
        """

    package static let v2 =
        """
        evstore: 1
        version: 2
        labels: [1.1.0]
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
              code: {type: string}
        """ + paid("OrderPaid")

    package static let v3 = version(
        3, "1.2.0",
        upcast: ["on: OrderPlaced\n    do:\n      - convert: {path: /code, to: integer, using: integer-text}"],
        events: placed + paid("OrderPaid"))

    package static let v4 = version(4, "2.0.0", upcast: [rename, addVoided], events: placed + paid("PaymentCaptured") + voided)

    private static let rename = "rename-event: {from: OrderPaid, to: PaymentCaptured}"
    private static let addVoided = #"add-event: {type: OrderVoided, down: {hide: "version 3 never voids"}}"#

    private static func version(_ number: Int, _ label: String, upcast: [String], events: String) -> String {
        """
        evstore: 1
        version: \(number)
        labels: [\(label)]
        upcast:
        \(upcast.map { "  - \($0)" }.joined(separator: "\n"))
        events:
        """ + events
    }

    /// The same up to version 3, of which the last makes a number of a code, which can fail; then a type comes at version 4, and another is
    /// renamed at 5, so that an order looks the same from version 3 on.
    package static let oneStepEach = [
        v1, v2, v3, version(4, "2.0.0", upcast: [addVoided], events: placed + paid("OrderPaid") + voided),
        version(5, "2.1.0", upcast: [rename], events: placed + paid("PaymentCaptured") + voided),
    ]

    package static let v5 =
        """
        evstore: 1
        version: 5
        labels: [2.1.0]
        upcast:
          - on: OrderPlaced
            do:
              - move: {from: /customer, path: /buyer/name}
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
              code: {type: integer}
        """ + paid("PaymentCaptured").replacing("cash]", with: "cash, coins]") + voided

    /// An order of versions 3 and 4.
    package static let placed = """

          OrderPlaced:
            stream: "order-{/id}"
            required: [id, customer, cents, currency]
            properties:
              id: {type: string}
              customer: {type: string}
              cents: {type: integer, minimum: 0}
              currency: {type: string, enum: [USD, EUR]}
              code: {type: integer}
        """

    package static func paid(_ type: String) -> String {
        """

          \(type):
            stream: "order-{/id}"
            required: [id]
            properties:
              id: {type: string}
              method: {type: string, enum: [card, cash]}
        """
    }

    package static let voided = """

          OrderVoided:
            stream: "order-{/id}"
            required: [id]
            properties:
              id: {type: string}
        """

    /// A read model of the orders at each version up to one, of `versions`.
    package static func projections(through version: Int = 5) -> String {
        let parts = projections.components(separatedBy: "    - since: ")
        return parts[0] + parts.dropFirst().filter { Int($0.prefix(1)) ?? 0 <= version }.map { "    - since: " + $0 }.joined()
    }

    private static let projections = """
        evstore: 1
        projections:
          orders:
            - since: 1
              key: /id
              on:
                OrderPlaced: {set: {/customer: /customer, /total: /total, /state: {value: open}}}
                OrderPaid: {set: {/state: {value: paid}}}
            - since: 2
              key: /id
              on:
                OrderPlaced: {set: {/customer: /customer, /total: /cents, /state: {value: open}}}
                OrderPaid: {set: {/state: {value: paid}}}
            - since: 4
              key: /id
              on:
                OrderPlaced: {set: {/customer: /customer, /total: /cents, /state: {value: open}}}
                PaymentCaptured: {set: {/state: {value: paid}}}
                OrderVoided: delete
            - since: 5
              key: /id
              on:
                OrderPlaced: {set: {/customer: /buyer/name, /total: /cents, /state: {value: open}}}
                PaymentCaptured: {set: {/state: {value: paid}}}
                OrderVoided: delete

        """
}
