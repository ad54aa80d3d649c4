import Bytes
import Testing

@testable import Projections

@Test("set copies a source that is present, and leaves the target alone where the source is absent")
func setFold() throws {
    let fold = try MemoryFold(
        "key: /id\non: {OrderPlaced: {set: {/customer: /customer, /total: /total, /state: {value: open}}}}",
        [
            ("OrderPlaced", #"{"id":"a","total":10.50,"customer":"Ann"}"#),
            ("OrderPlaced", #"{ "id" : "a", "total" : 7 }"#),
        ])
    #expect(fold.rows == ["a": #"{"customer":"Ann","state":"open","total":7}"#])
    #expect(fold.errors == [])
}

@Test("init keeps the first value, unset removes it, and nested members share their object")
func initAndUnset() throws {
    let fold = try MemoryFold(
        """
        key: /id
        on:
          OrderPlaced: {init: {/name/first: /name/first}, set: {/name/last: /name/last, /b: {value: 1}}}
          OrderPaid: {unset: [/name/first, /b]}
        """,
        [
            ("OrderPlaced", #"{"id":"a","total":1,"name":{"first":"Ann","last":"Lee"}}"#),
            ("OrderPlaced", #"{"id":"a","total":1,"name":{"first":"Bea","last":"Fox"}}"#),
            ("OrderPlaced", #"{"id":"b","total":1,"name":{"first":"Cy"}}"#),
            ("OrderPaid", #"{"id":"b"}"#),
        ])
    #expect(fold.rows == ["a": #"{"b":1,"name":{"first":"Ann","last":"Fox"}}"#, "b": "{}"])
}

@Test("unset takes an object with its last target along, unless the object is a target, holds names of events, or lies within such a one")
func unsetInObjects() throws {
    let fold = try MemoryFold(
        """
        key: /id
        initial: {/t: {value: {x: {y: 1}}}}
        on:
          OrderPlaced: {set: {/a/b/c: /total, /a/d: /total, "/m/{/id}": /total}}
          OrderPaid: {unset: [/a/b/c, /t/x/y, "/m/{/id}"]}
          OrderVoided: {unset: [/a/d]}
        """,
        [
            ("OrderPlaced", #"{"id":"a","total":1}"#), ("OrderPaid", #"{"id":"a"}"#),
            ("OrderPlaced", #"{"id":"b","total":1}"#), ("OrderPaid", #"{"id":"b"}"#), ("OrderVoided", #"{"id":"b"}"#),
        ])
    #expect(fold.rows == ["a": #"{"a":{"d":1},"m":{},"t":{"x":{}}}"#, "b": #"{"m":{},"t":{"x":{}}}"#])
}

@Test(
    "add is exact for decimals and integers of any length",
    arguments: [
        (["0.1", "0.2"], "0.3"), (["1", "2", "3"], "6"), (["-5", "5"], "0"),
        (["999999999999999999", "1"], "1000000000000000000"),
        (["123456789012345678901234567890", "1"], "123456789012345678901234567891"), (["1e2", "1"], "101"),
    ] as [([String], String)])
func addFold(_ given: ([String], String)) throws {
    let events = given.0.map { ("OrderPlaced", #"{"id":"a","total":\#($0)}"#) }
    let fold = try MemoryFold("key: /id\non: {OrderPlaced: {add: {/sum: /total}}}", events)
    #expect(fold.rows == ["a": #"{"sum":\#(given.1)}"#])
}

@Test("count adds one where the source is present, whatever it is")
func countFold() throws {
    let fold = try MemoryFold(
        "key: {value: all}\non: {OrderPlaced: {count: {/orders: /id, /named: /customer}}}",
        [
            ("OrderPlaced", #"{"id":"a","total":1,"customer":"x"}"#), ("OrderPlaced", #"{"id":"b","total":1}"#),
            ("OrderPlaced", #"{"id":"c","total":1,"customer":""}"#),
        ])
    #expect(fold.rows == ["all": #"{"named":2,"orders":3}"#])
}

@Test("max and min compare numbers as numbers, date-times as instants and texts by their bytes")
func extremes() throws {
    let fold = try MemoryFold(
        "key: {value: all}\non: {OrderPlaced: {max: {/most: /total, /last: /placedAt, /z: /customer}, min: {/least: /total, /first: /placedAt}}}",
        [
            ("OrderPlaced", #"{"id":"a","total":9,"placedAt":"2026-03-29T02:30:00+01:00","customer":"b"}"#),
            ("OrderPlaced", #"{"id":"b","total":10.5,"placedAt":"2026-03-29T02:00:00Z","customer":"a"}"#),
            ("OrderPlaced", #"{"id":"c","total":10,"placedAt":"2026-03-29T01:45:00Z"}"#),
        ])
    #expect(
        fold.rows == [
            "all":
                #"{"first":"2026-03-29T02:30:00+01:00","last":"2026-03-29T02:00:00Z","least":9,"most":10.5,"z":"b"}"#
        ])
}

@Test("append keeps at most as many elements as `keep` says, and whole payloads without their spaces")
func appendFold() throws {
    let fold = try MemoryFold(
        "key: /id\non: {OrderPaid: {append: {/last: {from: $payload, keep: 2}, /methods: /method}}}",
        [
            ("OrderPaid", #"{"id":"a", "method":"card"}"#), ("OrderPaid", #"{"id":"a"}"#), ("OrderPaid", #"{"id":"a","method":"ca sh" }"#),
        ])
    #expect(fold.rows == ["a": #"{"last":[{"id":"a"},{"id":"a","method":"ca sh"}],"methods":["card","ca sh"]}"#])
}

@Test("include and exclude keep a list as a sorted set")
func sets() throws {
    let fold = try MemoryFold(
        "key: {value: all}\non: {OrderPlaced: {include: {/ids: /id, /totals: /total}}, OrderVoided: {exclude: {/ids: /id}}}",
        [
            ("OrderPlaced", #"{"id":"b","total":10}"#), ("OrderPlaced", #"{"id":"a","total":9}"#),
            ("OrderPlaced", #"{"id":"b","total":1e1}"#),
            ("OrderPlaced", #"{"id":"c","total":9.0}"#), ("OrderVoided", #"{"id":"b"}"#), ("OrderVoided", #"{"id":"x"}"#),
        ])
    #expect(fold.rows == ["all": #"{"ids":["a","c"],"totals":[9,10]}"#])
}

@Test("a sorted set takes no number that can't be compared, as add takes none", arguments: ["include", "exclude"])
func setsOfFarNumbers(kind: String) throws {
    let far = ["1e10000", "-7e20000", "12e9999", "1e-10000"]
    let near = ["3e9999", "5", "-2e9999", "0e10000", "0.1e10000"]
    let events = near.map { ("OrderPlaced", #"{"id":"a","total":\#($0)}"#) } + far.map { ("OrderPaid", #"{"id":"a","amount":\#($0)}"#) }
    let fold = try MemoryFold(
        "key: {value: all}\non: {OrderPlaced: {include: {/l: /total}}, OrderPaid: {\(kind): {/l: /amount}}}", events)
    #expect(fold.rows == ["all": #"{"l":[-2e+9999,0,5,1e+9999,3e+9999]}"#])
    #expect(fold.errors == Array(repeating: #"/l should be a number with an exponent from -9999 to 9999 (row "all")"#, count: far.count))
}

@Test("delete removes the row, and only-existing never makes one")
func deleteAndOnlyExisting() throws {
    let fold = try MemoryFold(
        "key: /id\non: {OrderPlaced: {set: {/t: /total}}, OrderPaid: {only-existing: true, set: {/paid: {value: true}}}, OrderVoided: delete}",
        [
            ("OrderPaid", #"{"id":"ghost"}"#), ("OrderPlaced", #"{"id":"a","total":1}"#), ("OrderPlaced", #"{"id":"b","total":2}"#),
            ("OrderPaid", #"{"id":"b"}"#), ("OrderVoided", #"{"id":"a"}"#), ("OrderVoided", #"{"id":"never"}"#),
            ("OrderPlaced", #"{"id":"c","total":3}"#), ("OrderVoided", #"{"id":"c"}"#), ("OrderPlaced", #"{"id":"c","total":4}"#),
        ])
    #expect(fold.rows == ["b": #"{"paid":true,"t":2}"#, "c": #"{"t":4}"#])
}

@Test("the first fold whose guard holds runs, with guards on the event and on the row")
func guards() throws {
    let fold = try MemoryFold(
        """
        key: /id
        initial: {/state: {value: new}}
        on:
          OrderPlaced:
            - {when: {path: /state, equals: void}, delete: true}
            - {when: {path: /total, below: 10}, set: {/size: {value: small}}}
            - {when: {path: /customer, exists: false}, set: {/size: {value: anonymous}}}
            - {set: {/size: {value: large}}}
          OrderPaid:
            - {when: {row: /state, in: [paid, void]}, add: {/strays: {value: 1}}}
            - {set: {/state: {value: paid}, /was: {row: /state}}}
        """,
        [
            ("OrderPlaced", #"{"id":"a","total":9.99}"#), ("OrderPlaced", #"{"id":"b","total":10}"#),
            ("OrderPlaced", #"{"id":"c","total":10,"customer":"x"}"#), ("OrderPaid", #"{"id":"c"}"#), ("OrderPaid", #"{"id":"c"}"#),
            ("OrderPlaced", #"{"id":"d","total":1}"#), ("OrderPlaced", #"{"id":"d","total":1,"state":"void"}"#),
        ])
    #expect(
        fold.rows == [
            "a": #"{"size":"small","state":"new"}"#, "b": #"{"size":"anonymous","state":"new"}"#,
            "c": #"{"size":"large","state":"paid","strays":1,"was":"new"}"#,
        ])
}

@Test("dotted numbers compare part by part")
func dottedNumbers() throws {
    let text =
        "key: /id\non: {OrderPaid: [{when: {path: /method, below: \"1.10\"}, set: {/old: {value: true}}}, {set: {/old: {value: false}}}]}"
    let fold = try MemoryFold(
        text,
        [
            ("OrderPaid", #"{"id":"a","method":"1.9"}"#), ("OrderPaid", #"{"id":"b","method":"1.10.0"}"#),
            ("OrderPaid", #"{"id":"c","method":"1"}"#),
        ])
    #expect(fold.rows == ["a": #"{"old":true}"#, "b": #"{"old":false}"#, "c": #"{"old":true}"#])
}

@Test(
    "a key is a pointer, a template, the stream, a constant, a day or a month",
    arguments: [
        ("/id", "a/b \u{e9}"), ("\"{/id}:{/total}\"", "a/b \u{e9}:10.5"), ("$stream", "order-7"), ("{value: all}", "all"),
        ("{day: /placedAt}", "2026-03-29"), ("{month: /placedAt}", "2026-03"), ("{day: $time}", "2026-01-02"), ("/total", "10.5"),
    ])
func keys(_ given: (key: String, expected: String)) throws {
    let fold = try MemoryFold(
        "key: \(given.key)\non: {OrderPlaced: {count: {/n: $type}}}",
        [("OrderPlaced", #"{"id":"a\/b \u00e9","total":10.50,"placedAt":"2026-03-29T00:30:00+02:00"}"#)])
    #expect(fold.rows == [given.expected: #"{"n":1}"#])
}

@Test("a target may hold a member that the event names, also one with a slash in it")
func templateTargets() throws {
    let fold = try MemoryFold(
        "key: {value: all}\non: {OrderPaid: {add: {\"/by/{/method}/n\": {value: 1}, /by/all: {value: 1}}, set: {/last: /method}}}",
        [
            ("OrderPaid", #"{"id":"a","method":"card"}"#), ("OrderPaid", #"{"id":"a","method":"a/b"}"#),
            ("OrderPaid", #"{"id":"a","method":"card"}"#),
            ("OrderPaid", #"{"id":"a"}"#),
        ])
    #expect(fold.rows == ["all": #"{"by":{"all":4,"card":{"n":2},"a/b":{"n":1}},"last":"card"}"#])
}

@Test("the sources of an event are its time, position, type, stream, metadata and payload")
func sources() throws {
    let fold = try MemoryFold(
        "key: /id\non: {OrderPaid: {set: {/t: $time, /p: $position, /y: $type, /s: $stream, /m: $metadata/by, /c: \"{/id}-{/method}\", /d: {day: $time}}}}",
        [("OrderPaid", #"{"id":"a","method":"x\"y"}"#)], metadata: #"{"by":{"user":"ann"}}"#)
    #expect(
        fold.rows == [
            "a":
                #"{"c":"a-x\"y","d":"2026-01-02","m":{"user":"ann"},"p":1,"s":"order-7","t":"2026-01-02T03:04:05Z","y":"OrderPaid"}"#
        ])
}

@Test("each folds once for every element, with the element in keys and sources")
func eachFold() throws {
    let fold = try MemoryFold(
        "key: $item/sku\non: {OrderPlaced: {each: /lines, add: {/sold: $item/count}, set: {/order: /id}}}",
        [
            ("OrderPlaced", #"{"id":"a","total":1,"lines":[{"sku":"x","count":2},{"sku":"y","count":1},{"sku":"x","count":3}]}"#),
            ("OrderPlaced", #"{"id":"b","total":1,"lines":[]}"#), ("OrderPlaced", #"{"id":"c","total":1}"#),
        ])
    #expect(fold.rows == ["x": #"{"order":"a","sold":5}"#, "y": #"{"order":"a","sold":1}"#])
}

@Test("a fold error names the member and leaves the row as it was")
func foldErrors() throws {
    let fold = try MemoryFold(
        "key: /id\non: {OrderPlaced: {set: {/name: /customer, /n: {value: 1}}}, OrderPaid: {set: {/n: {value: 2}}, add: {/name: /amount}}}",
        [("OrderPlaced", #"{"id":"a","total":1,"customer":"Ann"}"#), ("OrderPaid", #"{"id":"a","amount":2}"#)])
    #expect(fold.rows == ["a": #"{"n":1,"name":"Ann"}"#])
    #expect(fold.errors == [#"/name should be a number, found a text (row "a")"#])
}

@Test("a key that is too long or absent is a fold error")
func keyErrors() throws {
    let long = String(repeating: "x", count: 501)
    let fold = try MemoryFold(
        "key: /customer\non: {OrderPlaced: {count: {/n: /id}}}",
        [("OrderPlaced", #"{"id":"a","total":1,"customer":"\#(long)"}"#), ("OrderPlaced", #"{"id":"a","total":1}"#)])
    #expect(fold.rows.isEmpty)
    #expect(fold.errors == ["the key has 501 bytes; 500 are the most", "the event has no key"])
}

@Test("a fold adds a constant to one member and sets others")
func plainSum() throws {
    let fold = try MemoryFold(
        "key: /id\non: {OrderPlaced: {set: {/customer: /customer}, add: {/orders: {value: 1}, /owed: {value: -2}}}}",
        [
            ("OrderPlaced", #"{"id":"a","total":1,"customer":"Ann"}"#), ("OrderPlaced", #"{"id":"a","total":1}"#),
            ("OrderPlaced", #"{"id":"a","total":1,"customer":"Bob"}"#),
        ])
    #expect(fold.rows == ["a": #"{"customer":"Bob","orders":3,"owed":-6}"#])
    #expect(fold.errors == [])
}

@Test("an event is not refused for a source of a fold that can't run on it")
func sourcesOfOtherFolds() throws {
    let fold = try MemoryFold(
        """
        key: /id
        on: {OrderPlaced: [{when: {path: /total, below: 0}, set: {/day: {day: /customer}}}, {set: {/total: /total}}]}
        """,
        [
            ("OrderPlaced", #"{"id":"a","total":1,"customer":"no day"}"#),
            ("OrderPlaced", #"{"id":"b","total":-1,"customer":"no day"}"#),
        ])
    #expect(fold.rows == ["a": #"{"total":1}"#] && fold.refused == [2])
}

@Test("date-times are compared by their instants, however their texts are spelled")
func spelledInstants() throws {
    let plain = #""1999-08-20T16:33:41.5+02:00""#
    let spelled = #""1999-08-20T14\u003a33:41\u002E5Z""#
    #expect(try ValueOrder.instants.compare(Array(plain.utf8).lent, Array(spelled.utf8).lent) == 0)
    #expect(throws: FoldError.self) { try ValueOrder.instants.compare(Array(#""\u0031""#.utf8).lent, Array(plain.utf8).lent) }
}
