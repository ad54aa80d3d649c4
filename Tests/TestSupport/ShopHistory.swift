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

    package static let v3 =
        """
        evstore: 1
        version: 3
        labels: [1.2.0]
        upcast:
          - on: OrderPlaced
            do:
              - convert: {path: /code, to: integer, using: integer-text}
        events:
        """ + placed + paid("OrderPaid")

    package static let v4 =
        """
        evstore: 1
        version: 4
        labels: [2.0.0]
        upcast:
          - rename-event: {from: OrderPaid, to: PaymentCaptured}
          - add-event: {type: OrderVoided, down: {hide: "version 3 never voids"}}
        events:
        """ + placed + paid("PaymentCaptured") + voided

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
}
