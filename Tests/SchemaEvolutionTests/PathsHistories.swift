@testable import SchemaEvolution

/// The orders of the design, versions 1 to 4, with a fifth that combines and hides.
func orders() throws -> History { try history(ordersTexts) }

let ordersTexts = [
    """
    events:
      OrderPlaced:
        stream: "order-{/id}"
        required: [id, customer, total, placedAt]
        properties:
          id: {type: string}
          customer: {type: string}
          email: {type: string}
          total: {type: string}
          placedAt: {type: integer}
      OrderPaid:
        stream: "order-{/id}"
        required: [id, method]
        properties: {id: {type: string}, method: {type: string, enum: [cc, bt, cash]}}
      DebugPing: {properties: {n: {type: integer}}}
    """,
    """
    upcast:
      - on: OrderPlaced
        do:
          - convert: {path: /total, to: integer, using: {decimal: {scale: 2}}}
          - move: {from: /total, path: /totalCents}
          - add: {path: /currency, value: USD}
    events:
      OrderPlaced:
        stream: "order-{/id}"
        required: [id, customer, totalCents, currency, placedAt]
        properties:
          id: {type: string}
          customer: {type: string}
          email: {type: string}
          totalCents: {type: integer}
          currency: {type: string, enum: [USD, EUR]}
          placedAt: {type: integer}
      OrderPaid:
        stream: "order-{/id}"
        required: [id, method]
        properties: {id: {type: string}, method: {type: string, enum: [cc, bt, cash]}}
      DebugPing: {properties: {n: {type: integer}}}
    """,
    """
    upcast:
      - on: OrderPlaced
        do:
          - split:   {path: /customer, into: [/name/first, /name/last], separator: " ", at: first, missing: absent}
          - convert: {path: /placedAt, to: string, using: epoch-seconds}
      - on: OrderPaid
        do:
          - convert: {path: /method, to: string, using: {table: {map: {cc: card, bt: transfer, cash: cash}}}}
      - add-event: {type: OrderVoided, down: {hide: "version 2 never voids"}}
    events:
      OrderPlaced:
        stream: "order-{/id}"
        required: [id, name, totalCents, currency, placedAt]
        properties:
          id: {type: string}
          name: {type: object, required: [first], properties: {first: {type: string}, last: {type: string}}}
          email: {type: string}
          totalCents: {type: integer}
          currency: {type: string, enum: [USD, EUR]}
          placedAt: {type: string, format: date-time}
      OrderPaid:
        stream: "order-{/id}"
        required: [id, method]
        properties: {id: {type: string}, method: {type: string, enum: [card, transfer, cash]}}
      OrderVoided:
        stream: "order-{/id}"
        required: [id]
        properties: {id: {type: string}, reason: {type: string}}
      DebugPing: {properties: {n: {type: integer}}}
    """,
    """
    upcast:
      - on: OrderPlaced
        do:
          - move: {from: /email, path: /contact/emails}
          - wrap: {path: /contact/emails}
      - rename-event: {from: OrderPaid, to: PaymentCaptured}
      - drop-event: {type: DebugPing, because: "never read by any projection"}
    events:
      OrderPlaced:
        stream: "order-{/id}"
        required: [id, name, contact, totalCents, currency, placedAt]
        properties:
          id: {type: string}
          name: {type: object, required: [first], properties: {first: {type: string}, last: {type: string}}}
          contact: {type: object, required: [emails], properties: {emails: {type: array, items: {type: string}}}}
          totalCents: {type: integer}
          currency: {type: string, enum: [USD, EUR]}
          placedAt: {type: string, format: date-time}
      PaymentCaptured:
        stream: "order-{/id}"
        required: [id, method]
        properties: {id: {type: string}, method: {type: string, enum: [card, transfer, cash]}}
      OrderVoided:
        stream: "order-{/id}"
        required: [id]
        properties: {id: {type: string}, reason: {type: string}}
    """,
    """
    upcast:
      - on: OrderPlaced
        do:
          - move: {from: /totalCents, path: /total/amount}
          - move: {from: /currency, path: /total/currency}
          - allow: {path: /total/currency, down: {table: {GBP: USD}}}
      - add-event:
          type: OrderSettled
          down:
            as:
              - {type: PaymentCaptured, pick: [/id], move: {/payment/method: /method}}
              - {type: OrderVoided, pick: [/id]}
    events:
      OrderPlaced:
        stream: "order-{/id}"
        required: [id, name, contact, total, placedAt]
        properties:
          id: {type: string}
          name: {type: object, required: [first], properties: {first: {type: string}, last: {type: string}}}
          contact: {type: object, required: [emails], properties: {emails: {type: array, items: {type: string}}}}
          total:
            type: object
            required: [amount, currency]
            properties: {amount: {type: integer}, currency: {type: string, enum: [USD, EUR, GBP]}}
          placedAt: {type: string, format: date-time}
      PaymentCaptured:
        stream: "order-{/id}"
        required: [id, method]
        properties: {id: {type: string}, method: {type: string, enum: [card, transfer, cash]}}
      OrderVoided:
        stream: "order-{/id}"
        required: [id]
        properties: {id: {type: string}, reason: {type: string}}
      OrderSettled:
        stream: "order-{/id}"
        required: [id, payment]
        properties:
          id: {type: string}
          payment: {type: object, required: [method], properties: {method: {type: string, enum: [card, transfer, cash]}}}
    """,
]

/// A package log, versions 1 to 5: dispatch first, then a split that the stream follows, sentinels, times.
func packages() throws -> History {
    let kinds = ["StateChanged", "InstallBegan", "UpgradeBegan"]
    func events(_ package: String, _ stream: String, version: Bool, at: String) -> String {
        kinds.map { kind in
            let own = kind == "StateChanged" ? "state" : version ? "available" : ""
            let optional = kind == "StateChanged" ? "" : version ? "" : ", available: {type: string}"
            let names = ["at", version ? "version" : "", own].filter { !$0.isEmpty }
            let first = package.hasPrefix("name") ? "name" : "package"
            return """
                  \(kind):
                    stream: "\(stream)"
                    required: [\(([first] + names).joined(separator: ", "))]
                    properties: {at: \(at), \(package), version: {type: string}\(own.isEmpty ? "" : ", \(own): {type: string}")\(optional)}
                """
        }.joined(separator: "\n")
    }
    let (whole, parts) = ("package: {type: string}", "name: {type: string}, architecture: {type: string}")
    let all = "[\(kinds.joined(separator: ", "))]"
    let (text, time) = ("{type: string}", "{type: string, format: date-time}")
    let (before, after) = ("pkg-{/package}", "pkg-{/name}:{/architecture}")
    return try history([
        """
        events:
          PackageLogged:
            stream: "pkg-{/package}"
            required: [at, action, package, version]
            properties:
              at: {type: string}
              action: {type: string, enum: [status, install, upgrade]}
              package: {type: string}
              version: {type: string}
              state: {type: string}
              available: {type: string}
        """,
        """
        upcast:
          - rename-event: {from: PackageLogged, by: /action, to: {status: StateChanged, install: InstallBegan, upgrade: UpgradeBegan}}
        events:
        \(events(whole, before, version: true, at: text))
        """,
        """
        upcast:
          - on: \(all)
            do: [{split: {path: /package, into: [/name, /architecture], separator: ":", at: last, missing: absent}}]
        events:
        \(events(parts, after, version: true, at: text))
        """,
        """
        upcast:
          - on: [InstallBegan, UpgradeBegan]
            do: [{unset: {path: /version, equals: "<none>"}}, {unset: {path: /available, equals: "<none>"}}]
          - {on: StateChanged, do: [{unset: {path: /version, equals: "<none>"}}]}
        events:
        \(events(parts, after, version: false, at: text))
        """,
        """
        upcast:
          - {on: all, do: [{convert: {path: /at, to: string, using: {local-time: {offset: Z}}}}]}
        events:
        \(events(parts, after, version: false, at: time))
        """,
    ])
}
