internal import TestSupport

/// The shop's first three versions, of which the third makes a number of a code, which can fail; then a new type, and a renamed one.
package enum OrdersHistory {
    package static let files = Dictionary(
        uniqueKeysWithValues: (ShopHistory.versions.prefix(3) + [v4, v5]).enumerated().map { ("v\($0 + 1).yaml", $1) })

    private static let v4 =
        """
        evstore: 1
        version: 4
        labels: [2.0.0]
        upcast:
          - add-event: {type: OrderVoided, down: {hide: "version 3 never voids"}}
        events:
        """ + ShopHistory.placed + ShopHistory.paid("OrderPaid") + ShopHistory.voided

    private static let v5 =
        """
        evstore: 1
        version: 5
        labels: [2.1.0]
        upcast:
          - rename-event: {from: OrderPaid, to: PaymentCaptured}
        events:
        """ + ShopHistory.placed + ShopHistory.paid("PaymentCaptured") + ShopHistory.voided

    /// `names` is the same from version 3 on, so that a replay to 4 or 5 carries it over.
    package static let projections = """
        evstore: 1
        projections:
          orders:
            - since: 1
              key: /id
              on:
                OrderPlaced: {set: {/customer: /customer, /amount: /code, /state: {value: open}}}
                OrderPaid:   {only-existing: true, set: {/state: {value: paid}}}
            - since: 2
              key: /id
              on:
                OrderPlaced: {set: {/name: /customer, /amount: /code, /state: {value: open}}}
                OrderPaid:   {only-existing: true, set: {/state: {value: paid}}}
            - since: 4
              key: /id
              on:
                OrderPlaced: {set: {/name: /customer, /amount: /code, /state: {value: open}}}
                OrderPaid:   {only-existing: true, set: {/state: {value: paid}}}
                OrderVoided: delete
            - since: 5
              key: /id
              on:
                OrderPlaced:     {set: {/name: /customer, /amount: /code, /state: {value: open}}}
                PaymentCaptured: {only-existing: true, set: {/state: {value: paid}}}
                OrderVoided:     delete
          names:
            - since: 2
              key: /customer
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
