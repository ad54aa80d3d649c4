/// A small history with a rename, a conversion that can fail, a new event and a renamed one.
enum OrdersHistory {
    static let files: [String: String] = [
        "v1.yaml": """
        evstore: 1
        version: 1
        labels: [1.0.0]
        events:
          OrderPlaced:
            stream: "order-{/id}"
            required: [id, customer, amount]
            properties:
              id:       {type: string}
              customer: {type: string}
              amount:   {type: string}
          OrderPaid:
            stream: "order-{/id}"
            required: [id, method]
            properties:
              id:     {type: string}
              method: {type: string}
        """,
        "v2.yaml": """
        evstore: 1
        version: 2
        labels: [1.1.0]
        upcast:
          - on: OrderPlaced
            do:
              - move: {from: /customer, path: /name}
        events:
          OrderPlaced:
            stream: "order-{/id}"
            required: [id, name, amount]
            properties:
              id:     {type: string}
              name:   {type: string}
              amount: {type: string}
          OrderPaid:
            stream: "order-{/id}"
            required: [id, method]
            properties:
              id:     {type: string}
              method: {type: string}
        """,
        "v3.yaml": """
        evstore: 1
        version: 3
        labels: [1.2.0]
        upcast:
          - on: OrderPlaced
            do:
              - convert: {path: /amount, to: integer, using: integer-text}
        events:
          OrderPlaced:
            stream: "order-{/id}"
            required: [id, name, amount]
            properties:
              id:     {type: string}
              name:   {type: string}
              amount: {type: integer}
          OrderPaid:
            stream: "order-{/id}"
            required: [id, method]
            properties:
              id:     {type: string}
              method: {type: string}
        """,
        "v4.yaml": """
        evstore: 1
        version: 4
        labels: [2.0.0]
        upcast:
          - add-event: {type: OrderVoided, down: {hide: "version 3 never voids"}}
        events:
          OrderPlaced:
            stream: "order-{/id}"
            required: [id, name, amount]
            properties:
              id:     {type: string}
              name:   {type: string}
              amount: {type: integer}
          OrderPaid:
            stream: "order-{/id}"
            required: [id, method]
            properties:
              id:     {type: string}
              method: {type: string}
          OrderVoided:
            stream: "order-{/id}"
            required: [id]
            properties:
              id: {type: string}
        """,
        "v5.yaml": """
        evstore: 1
        version: 5
        labels: [2.1.0]
        upcast:
          - rename-event: {from: OrderPaid, to: PaymentCaptured}
        events:
          OrderPlaced:
            stream: "order-{/id}"
            required: [id, name, amount]
            properties:
              id:     {type: string}
              name:   {type: string}
              amount: {type: integer}
          PaymentCaptured:
            stream: "order-{/id}"
            required: [id, method]
            properties:
              id:     {type: string}
              method: {type: string}
          OrderVoided:
            stream: "order-{/id}"
            required: [id]
            properties:
              id: {type: string}
        """,
    ]

    /// `names` is the same from version 3 on, so that a replay to 4 or 5 carries it over.
    static let projections = """
        evstore: 1
        projections:
          orders:
            - since: 1
              key: /id
              on:
                OrderPlaced: {set: {/customer: /customer, /amount: /amount, /state: {value: open}}}
                OrderPaid:   {only-existing: true, set: {/state: {value: paid}}}
            - since: 2
              key: /id
              on:
                OrderPlaced: {set: {/name: /name, /amount: /amount, /state: {value: open}}}
                OrderPaid:   {only-existing: true, set: {/state: {value: paid}}}
            - since: 4
              key: /id
              on:
                OrderPlaced: {set: {/name: /name, /amount: /amount, /state: {value: open}}}
                OrderPaid:   {only-existing: true, set: {/state: {value: paid}}}
                OrderVoided: delete
            - since: 5
              key: /id
              on:
                OrderPlaced:     {set: {/name: /name, /amount: /amount, /state: {value: open}}}
                PaymentCaptured: {only-existing: true, set: {/state: {value: paid}}}
                OrderVoided:     delete
          names:
            - since: 2
              key: /name
              on:
                OrderPlaced: {add: {/orders: {value: 1}}}
          methods:
            - since: 1
              key: /method
              on:
                OrderPaid: {add: {/payments: {value: 1}}}
            - since: 5
              key: /method
              on:
                PaymentCaptured: {add: {/payments: {value: 1}}}
        """
}
