internal import TestSupport

/// The shop that changes in one step each, and read models of it, of which those of orders show the code that can fail.
package enum OrdersHistory {
    package static let files = Dictionary(uniqueKeysWithValues: ShopHistory.oneStepEach.enumerated().map { ("v\($0 + 1).yaml", $1) })

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
