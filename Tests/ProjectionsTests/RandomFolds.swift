import TestSupport

/// Random definitions and events of the shop, the same for the same seed.
struct RandomFolds {
    var random: SeededGenerator

    init(_ random: SeededGenerator) { self.random = random }

    mutating func one<T>(_ choices: [T]) -> T { choices.randomElement(using: &random) ?? choices[0] }

    mutating func oneIn(_ count: Int) -> Bool { Int.random(in: 0 ..< count, using: &random) == 0 }

    private mutating func source(_ type: String, inEach: Bool) -> String {
        let facts = [
            #""$stream""#, #""$type""#, #""$time""#, #""$position""#, #""$payload""#, #""$metadata/user""#, #"{"value":1}"#,
            #"{"value":"x"}"#, #"{"value":null}"#, #"{"value":[1,"x"]}"#, #"{"row":"/a"}"#, #"{"row":"/n/x"}"#,
        ]
        let members =
            type == "OrderPlaced"
            ? [
                #""/id""#, #""/total""#, #""/customer""#, #""/placedAt""#, #""/name""#, #""/name/first""#, #""/state""#, #""/tags""#,
                #"{"day":"/placedAt"}"#, #"{"month":"/customer"}"#, #""{/id}-{/total}""#, #""{/customer}:{/state}""#, #""{/name/first}""#,
            ] : [#""/id""#, #""/method""#, #""/amount""#, #""{/method}/{/amount}""#, #""{/id}/{/amount}""#]
        let items = inEach ? [#""$item/sku""#, #""$item/count""#, #""{$item/sku}""#] : []
        return oneIn(3) ? one(facts) : one(members + items + items)
    }

    private mutating func test(_ type: String) -> String {
        let tests = [
            #""path":"/id","in":["a","b"]"#, #""path":"/id","exists":false"#, #""row":"/a","exists":\#(one(["true", "false"]))"#,
            #""row":"/n/x","equals":1"#, #""row":"/b","below":20"#, #""path":"$metadata/user","equals":"ann""#,
        ]
        let more =
            type == "OrderPlaced"
            ? [#""path":"/total","below":7"#, #""path":"/state","equals":"open""#, #""path":"/customer","exists":true"#]
            : [#""path":"/amount","in":[1,7]"#]
        return "{\(one(tests + more))}"
    }

    private mutating func fold(_ type: String, guarded: Bool, each: Bool, key: String?) -> String {
        var members = (each ? [#""each":"/lines""#] : []) + (key.map { ["\"key\":\($0)"] } ?? [])
        if guarded { members.append("\"when\":\(test(type))") }
        if oneIn(8) { return "{\((members + [#""delete":true"#]).joined(separator: ","))}" }
        if oneIn(6) { members.append(#""only-existing":true"#) }
        var targets = ["/a", "/b", "/n/x", "/n/y", "/s", "/l"] + (type == "OrderPlaced" ? ["/m/{/state}"] : [])
        targets.shuffle(using: &random)
        var edits: [String: [String]] = [:]
        for target in targets.prefix(Int.random(in: 1 ... 4, using: &random)) {
            let kind =
                target == "/s"
                ? one(["include", "exclude"]) : target == "/l" ? "append" : one(["set", "set", "init", "add", "count", "max", "min"])
            let source = source(type, inEach: each)
            edits[kind, default: []].append(
                "\"\(target)\":\(kind == "append" && oneIn(2) ? "{\"from\":\(source),\"keep\":2}" : source)")
        }
        if oneIn(6), let target = targets.last, !target.contains("{") { members.append("\"unset\":[\"\(target)\"]") }
        members += edits.sorted { $0.key < $1.key }.map { "\"\($0.key)\":{\($0.value.joined(separator: ","))}" }
        return "{\(members.joined(separator: ","))}"
    }

    mutating func definition() -> String {
        let key = one([#""/id""#, #""/id""#, #""{/id}:{$type}""#, #""$stream""#, #"{"value":"all"}"#, #""$metadata/user""#])
        var rules: [String] = []
        for type in ["OrderPlaced", "OrderPaid"] {
            let each = type == "OrderPlaced" && oneIn(4)
            let own = oneIn(4) ? one([#""/id""#, #""{/id}:{$type}""#, each ? #""$item/sku""# : #""$stream""#]) : nil
            let folds = (0 ..< Int.random(in: 0 ... 2, using: &random)).map { _ in fold(type, guarded: true, each: each, key: own) }
            rules.append("\"\(type)\":[\((folds + [fold(type, guarded: oneIn(3), each: each, key: own)]).joined(separator: ","))]")
        }
        rules.append(#""OrderVoided":"delete""#)
        let initial = oneIn(3) ? "\"initial\":{\"/b\":{\"value\":\(one(["5", "null", "\"x\""]))},\"/n/x\":{\"value\":1}}," : ""
        return "{\"key\":\(key),\(initial)\"on\":{\(rules.joined(separator: ","))}}"
    }

    mutating func event() -> (type: String, payload: String) {
        let id = #""id":"\#(one(["a", "b", "c"]))""#
        let number = one(["1", "7", "7.0", "10.5", "-3", "70e-1", "123456789012345678"])
        if oneIn(12) { return ("OrderVoided", "{\(id)}") }
        var members = [id]
        if oneIn(3) {
            if !oneIn(3) { members.append(#""method":"\#(one(["card", "\\u0041 b", ""]))""#) }
            if !oneIn(3) { members.append("\"amount\":\(number)") }
            return ("OrderPaid", "{\(members.joined(separator: ", "))}")
        }
        members.append("\"total\":\(number)")
        if !oneIn(3) { members.append(#""customer":"\#(one(["Ann", "2026-05", "2026-05-06", "\\\"q\\\"", "é"]))""#) }
        if !oneIn(3) {
            members.append(#""placedAt":"\#(one(["2026-03-29T02:30:00+01:00", "2026-03-29T02:00:00Z", "2026-03-29T01:30:00Z"]))""#)
        }
        if oneIn(2) { members.append(#""tags":[\#(one(["", "\"x\"", "\"x\", \"y\""]))]"#) }
        if oneIn(2) {
            members.append(#""lines": [\#(one(["", #"{"sku":"s","count":2}"#, #"{"sku":"s","count":2}, {"sku":"t", "count":7}"#]))]"#)
        }
        if oneIn(2) { members.append(#""name":{\#(one(["", #""first":"Bo""#, #""first":"Bo", "last":"Li""#]))}"#) }
        if !oneIn(3) { members.append(#""state":"\#(one(["open", "paid", "void"]))""#) }
        members.shuffle(using: &random)
        return ("OrderPlaced", "{\(members.joined(separator: ", "))}")
    }
}
