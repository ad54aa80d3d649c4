import EventModel
import Hashing
import JSONText
import Testing

@testable import Projections
@testable import SchemaEvolution

/// What is wrong with a definition, and where: line 5 is the first of `text`, whose lines begin at column 7.
private struct Broken: CustomTestStringConvertible, Sendable {
    var text: String
    var id: String
    var place: String
    var message: String

    init(_ text: String, _ id: String, _ place: String, _ message: String) {
        (self.text, self.id, self.place, self.message) = (text, id, place, message)
    }

    var testDescription: String { message }
}

@Test(
    "a broken definition is refused with its place and the reason",
    arguments: [
        Broken("key: /id\non: {OrderPlacd: delete}", "PROJ102", "6:12", "there is no event type OrderPlacd at v1"),
        Broken("key: /idd\non: {OrderPlaced: delete}", "PROJ103", "5:12", "OrderPlaced at v1 has no /idd"),
        Broken(
            "key: /lines\non: {OrderPlaced: delete}", "PROJ104", "5:12", "the key is array at v1, and should be a text, a number or a flag"),
        Broken("key: /id\non: {OrderPlaced: {set: {/a: /nme}}}", "PROJ103", "6:32", "OrderPlaced at v1 has no /nme"),
        Broken(
            "key: /id\non: {OrderPlaced: {add: {/a: /customer}}}", "PROJ104", "6:32",
            "the source of add is string at v1, and should be a number"),
        Broken(
            "key: /id\non: {OrderPlaced: {max: {/a: /tags}}}", "PROJ104", "6:32",
            "the source of max is array at v1, and should be a number or a text"),
        Broken("key: /id\non: {OrderPlaced: {set: {/a: $item}}}", "PROJ105", "6:32", "$item needs each: there is no element here"),
        Broken(
            "key: /id\non: {OrderPlaced: {each: /id, set: {/a: $item}}}", "PROJ104", "6:25",
            "each goes through /id, which is string at v1, and should be a list"),
        Broken("key: /id\non: {OrderPlaced: {set: {/a: {row: /b}}}}", "PROJ106", "6:32", "the row has no /b: no fold makes it"),
        Broken(
            "key: /id\non: {OrderPlaced: {set: {/a: /id}}}\nrow: {properties: {b: {type: string}}}", "PROJ106", "6:32",
            "the row's shape has no /a"),
        Broken("on: {OrderPlaced: delete}", "FILE002", "4:7", "the definition of orders has no \"key\""),
        Broken("key: /id\non: {OrderPlaced: {sett: {/a: /id}}}", "FILE002", "6:26", "the fold of OrderPlaced has no member \"sett\""),
        Broken(
            "key: /id\non: {OrderPlaced: {set: {a: /id}}}", "FILE003", "6:32",
            "a target must be a pointer to a member of the row, not \"a\""),
        Broken(
            "key: /id\non: {OrderPlaced: {set: {/a: id}}}", "FILE003", "6:36",
            "the source of /a must be a pointer or another source, not \"id\": a pointer is empty or begins with /"),
        Broken("key: /id\non: {OrderPlaced: {set: {/a: $now}}}", "FILE003", "6:36", "there is no source \"$now\""),
        Broken("key: /id\non: {OrderPlaced: {set: {/a: 3}}}", "FILE003", "6:36", "the source of /a must be a source, not the number 3"),
        Broken(
            "key: /id\non: {OrderPlaced: {set: {/a: /id}, add: {/a: /total}}}", "FILE003", "6:48", "\"/a\" is changed twice in one fold"),
        Broken(
            "key: /id\non: {OrderPlaced: [{set: {/a: /id}}, delete]}", "FILE003", "6:44",
            "the fold of OrderPlaced must be a map, not the text \"delete\""),
        Broken(
            "key: /id\non: {OrderPlaced: [{set: {/a: /id}}, {delete: true}]}", "FILE003", "6:26",
            "the folds after this one never run: it has no guard"),
        Broken(
            "key: /id\non: {OrderPlaced: {when: {path: /id}, delete: true}}", "FILE003", "6:32",
            "a guard has one of equals, in, exists and below, not 0"),
        Broken(
            "key: \"{/id\"\non: {OrderPlaced: delete}", "FILE003", "5:12",
            "key is not a template, \"{/id\": there is a { without a } after it"),
        Broken(
            "key: /id\non: {OrderPlaced: {set: {\"/{/id}\": /total}}}", "FILE003", "6:32",
            "the first member of a target can't be a template: /{/id}"),
        Broken(
            "key: /id\nlike: previous\non: {OrderPlaced: delete}", "FILE003", "6:13", "there is no definition of orders before this one"),
    ])
private func brokenFiles(_ broken: Broken) throws {
    let error = #expect(throws: EvstoreError.self) { try Shop.definitions(Shop.file(broken.text)) }
    guard case .schemaInvalid(let findings)? = error, let finding = findings.first else {
        Issue.record("no finding, but \(String(describing: error))")
        return
    }
    #expect(finding.id == broken.id && finding.message == broken.message && finding.file == "projections.yaml")
    #expect("\(finding.line ?? 0):\(finding.column ?? 0)" == broken.place)
}

@Test("all problems of a projection file are reported at once, also those that a later version makes")
func allFindings() throws {
    let v2 = Shop.v2.replacing("method: {type: string}, ", with: "").replacing(
        "do: [{add", with: "do: [{remove: {path: /method, restore: absent, because: unused}}, {add")
    let text = Shop.file("key: /id\non:\n  OrderPaid: {set: {/m: /method}}\n  OrderPlaced: {set: {/x: /y}}")
    let error = #expect(throws: EvstoreError.self) { try Shop.definitions(text, Shop.history([Shop.v1, v2])) }
    guard case .schemaInvalid(let findings)? = error else { return }
    #expect(findings.map(\.message) == ["OrderPlaced at v1 has no /y", "OrderPaid at v2 has no /method"])
}

@Test("a definition that begins far above the newest version is refused, and the one before it is checked no further")
func farAbove() throws {
    let text =
        Shop.file("key: /id\non: {OrderPlaced: delete}") + "    - since: 2147483647\n      key: /id\n      on: {OrderPlaced: delete}\n"
    let error = #expect(throws: EvstoreError.self) { try Shop.definitions(text) }
    guard case .schemaInvalid(let findings)? = error else { return }
    #expect(findings.map(\.message) == ["orders begins at v2147483647, and the newest version is v2"])
}

@Test("a guard that can't hold is a warning, and a key that may be absent a note")
func warnings() throws {
    let text = "key: /customer\non: {OrderPlaced: [{when: {path: /state, equals: opn}, delete: true}, {count: {/n: /id}}]}"
    let findings = try Shop.definitions(Shop.file(text)).check(against: Shop.history())
    #expect(findings.map(\.severity) == [.note, .warning])
    #expect(findings.map(\.id) == ["PROJ108", "PROJ107"])
}

@Test(
    "a target within one that holds no object is an error where no event can fold, and a warning where some may",
    arguments: [
        ("on: {OrderPlaced: {set: {/x: /customer, /x/y: /total}}}", Finding.Severity.warning),
        ("on: {OrderPlaced: {set: {/x: /total, /x/y: /id}}}", .error),
        ("on: {OrderPlaced: {set: {/x/y: /id}, add: {/x: /total}}}", .warning),
        ("on: {OrderPlaced: {set: {/x: /id}, add: {/x/y: /total}}}", .error),
        ("on: {OrderPlaced: {set: {/x: /id}}, OrderPaid: {set: {/x/y: /id}}}", .warning),
        ("initial: {/x: {value: 0}}\non: {OrderPlaced: {set: {/x/y: /total}}}", .error),
    ])
func nestedTargets(definition: String, severity: Finding.Severity) throws {
    let found: [Finding]
    do { found = try Shop.definitions(Shop.file("key: /id\n\(definition)")).check(against: Shop.history()) } catch {
        guard case .schemaInvalid(let errors)? = error as? EvstoreError else { throw error }
        found = errors
    }
    #expect(found.map(\.id) == ["PROJ104"] && found.map(\.severity) == [severity])
    #expect(found.allSatisfy { $0.message.contains("/x/y lies within /x") || $0.message.contains("/x lies within") })
}

@Test("targets side by side, and targets within a member that may be an object, are accepted")
func nestedInObjects() throws {
    for definition in [
        "on: {OrderPlaced: {set: {/x: /name, /x/first: /customer}}}",
        "initial: {/x: {value: {}}}\non: {OrderPlaced: {set: {/x/y: /total}}}",
        "on: {OrderPlaced: {set: {/x/a: /id, /x/b: /total}}}",
    ] {
        #expect(try Shop.definitions(Shop.file("key: /id\n\(definition)")).check(against: Shop.history()) == [])
    }
}

@Test(
    "no source is empty: the whole payload is $payload",
    arguments: ["key: \"\"\non: {OrderPlaced: delete}", "key: /id\non: {OrderPlaced: {set: {/x: \"\"}}}"])
func emptySources(definition: String) throws {
    let error = #expect(throws: EvstoreError.self) { try Shop.definitions(Shop.file(definition)) }
    guard case .schemaInvalid(let findings)? = error else { return }
    #expect(findings.map(\.id) == ["PROJ103"] && findings.allSatisfy { $0.fix?.contains("$payload") == true })
}

@Test(
    "what a fold makes of another kind than the row's shape says is a warning",
    arguments: [
        ("set: {/a: /customer}", "integer", "the row's /a is string at v1, and should be integer"),
        ("init: {/a: /lines}", "string", "the row's /a is array at v1, and should be string"),
        ("set: {/a: {value: x}}", "boolean", "the row's /a should be"), ("count: {/a: /id}", "string", "the row's /a is number at v1"),
        ("append: {/a: /id}", "string", "the row's /a is array at v1"),
        ("set: {\"/m/{/id}\": /total}", "string", "the row's /m/{/id} is number"),
    ])
func rowsOfOtherKinds(edit: String, type: String, message: String) throws {
    func check(_ type: String) throws -> [Finding] {
        let shape = "{properties: {a: {type: \(type)}, m: {type: object, additionalProperties: {type: \(type)}}}}"
        return try Shop.definitions(Shop.file("key: /id\non: {OrderPlaced: {\(edit)}}\nrow: \(shape)")).check(against: Shop.history())
    }
    let found = try check(type)
    #expect(found.map(\.id) == ["PROJ106"] && found.map(\.severity) == [.warning])
    #expect(found.allSatisfy { $0.message.hasPrefix(message) }, "\(found.map(\.message))")
}

@Test("what a fold makes may be a whole number, or null, as the row's shape says")
func rowsOfTheirKinds() throws {
    let definition = """
        key: /id
        on: {OrderPlaced: {set: {/a: /total, /b: {value: null}, /c: {row: /a}, /d: /customer}, add: {/e: /total}, append: {/l: /id}}}
        row:
          properties:
            a: {type: integer}
            b: {type: [string, "null"]}
            c: {type: string}
            d: {any: true}
            e: {type: integer}
            l: {type: array, items: {type: string}}
        """
    #expect(try Shop.definitions(Shop.file(definition)).check(against: Shop.history()) == [])
}

@Test(
    "a fold without guard that neither edits nor deletes does nothing",
    arguments: ["{delete: false}", "{only-existing: true}", "{each: /lines}"])
func idleFolds(fold: String) throws {
    func check(_ folds: String) throws -> [Finding] {
        try Shop.definitions(Shop.file("key: /id\non: {OrderPlaced: \(folds)}")).check(against: Shop.history())
    }
    let found = try check(fold)
    #expect(found.map(\.id) == ["FILE003"] && found.map(\.severity) == [.warning])
    #expect(found.map(\.message) == ["the fold of OrderPlaced does nothing"])
    // Behind a guard it is the way to pass over events.
    #expect(try check("[{when: {path: /state, equals: void}, only-existing: true}, {count: {/n: /id}}]") == [])
}

@Test(
    "a target that is none gets a fix that can be made",
    arguments: [
        ("\"\"", "name a member, such as /total"), ("/", "name a member, such as /total"), ("total", "begin it with a slash: /total"),
    ])
func targetFixes(target: String, fix: String) throws {
    let error = #expect(throws: EvstoreError.self) {
        try Shop.definitions(Shop.file("key: /id\non: {OrderPlaced: {set: {\(target): /total}}}"))
    }
    guard case .schemaInvalid(let findings)? = error else { return }
    #expect(findings.map(\.fix) == [fix])
}

@Test("a member of a key's template that an event may lack is a note, as for a key that is one member")
func optionalKeyMembers() throws {
    let findings = try Shop.definitions(Shop.file("key: \"{/id}:{/customer}\"\non: {OrderPlaced: {count: {/n: /id}}}")).check(
        against: Shop.history())
    #expect(findings.map(\.id) == ["PROJ108"] && findings.map(\.severity) == [.note])
    #expect(findings.allSatisfy { $0.message.contains("may lack /customer") })
}

@Test("like: previous keeps the members and types that the new definition does not give")
func likePrevious() throws {
    let file = """
        evstore: 1
        projections:
          orders:
            - since: 1
              key: /id
              initial: {/n: {value: 0}}
              on: {OrderPlaced: {set: {/t: /total}}, OrderVoided: delete}
            - since: 2
              like: previous
              on: {OrderPaid: {set: {/s: /source}}, OrderPlaced: {set: {/t: {value: 1}}}}
        """
    let history = try Shop.history()
    let definition = try Shop.definitions(file).definition(named: "orders", at: SchemaVersion(2), history)
    #expect(definition.consumes == ["OrderPlaced", "OrderPaid", "OrderVoided"])
    let fold = try MemoryFold(
        definition,
        [
            ("OrderPlaced", #"{"id":"a","total":9}"#), ("OrderPlaced", #"{"id":"b","total":9}"#), ("OrderVoided", #"{"id":"b"}"#),
            ("OrderPaid", #"{"id":"a","source":"web"}"#),
        ])
    #expect(fold.rows == ["a": #"{"n":0,"s":"web","t":1}"#])
}

@Test("a definition reads back from the store's rows as the same definition")
func storedDefinitions() throws {
    let set = try Shop.definitions(
        Shop.file(
            "key: /id\ninitial: {/i: {value: 2.50}}\n"
                + "on: {OrderPlaced: {add: {/b: /total, /a: {value: 1.50}}, set: {/c: {value: {y: 1, x: 2}}}}}"))
    let stored = try DefinitionSet(stored: set.stored)
    let history = try Shop.history()
    #expect(stored.stored == set.stored && stored.digest == set.digest)
    let (a, b) = (try set.definitions(at: SchemaVersion(2), history), try stored.definitions(at: SchemaVersion(2), history))
    #expect(a.map(\.fingerprint) == b.map(\.fingerprint))
    let events = [("OrderPlaced", #"{"id":"a","total":2}"#)]
    #expect(try MemoryFold(a[0], events).rows == MemoryFold(b[0], events).rows)
    #expect(throws: EvstoreError.self) {
        try DefinitionSet(stored: [
            StoredDefinition(name: "p", since: SchemaVersion(1), json: Array(#"{"key":"/id","on":{"A":{"sum":{}}}}"#.utf8))
        ])
    }
}

@Test("what a definition says that it reads of a type is what its compiled folds read")
func readMembers() throws {
    let file = """
        key: "{/a}-{/b}"
        on:
          OrderPlaced:
            - when: {path: /guard, exists: true}
              set: {/x: /c, /y: {day: /at}, /z: $stream, /w: {row: /x}}
              append: {/l: {from: /d, keep: 3}}
            - max: {"/by/{/e}": /f}
          OrderPaid: {each: /lines, add: {/n: $item/g}}
        """
    let set = try DefinitionSet(
        stored: [
            StoredDefinition(
                name: "orders", since: SchemaVersion(1), json: try FileReader.read(text: Array(file.utf8), file: "p").json.canonical())
        ])
    guard case .declared(let projection)? = set.entries["orders"]?.first else {
        Issue.record("no definition")
        return
    }
    let fold = DeclarativeFold(projection, at: SchemaVersion(1), try Shop.history())
    for (type, members) in [
        ("OrderPlaced", ["/a", "/at", "/b", "/c", "/d", "/e", "/f", "/guard"]), ("OrderPaid", ["/a", "/b", "/lines"]),
    ] {
        let compiled = try fold.reads(#require(fold.rule(of: type)))
        #expect(Set(try #require(compiled)) == Set(try #require(projection.reads(of: Name(type)))))
        #expect(Set(try #require(compiled).map(\.description)).sorted() == members)
    }
}

@Test("a fingerprint depends only on what the projection reads of the types that it consumes, not on other steps, versions or layout")
func fingerprints() throws {
    let history = try Shop.history()
    func print(_ text: String, _ version: Int, _ name: String = "orders") throws -> Digest {
        try Shop.definitions(text).definition(named: name, at: SchemaVersion(version), history).fingerprint
    }
    let placed = Shop.file("key: /id\non: {OrderPlaced: {set: {/t: /total}}}")
    let paid = Shop.file("key: /id\non: {OrderPaid: {set: {/m: /method}}}")
    #expect(try print(placed, 1) == print(placed, 2), "version 2 does not touch OrderPlaced")
    let all = Shop.file("key: /id\non: {OrderPaid: {set: {/m: $payload}}}")
    #expect(try print(paid, 1) == print(paid, 2), "version 2 adds a member to OrderPaid that nobody reads")
    #expect(try print(all, 1) != print(all, 2), "version 2 touches OrderPaid")
    #expect(try print(placed, 1) != print(placed.replacing("/t:", with: "/u:"), 1))
    #expect(try print(placed, 1) != print(placed.replacing("orders:", with: "others:"), 1, "others"))
    #expect(try print(placed, 1) == print(placed.replacing("{set: {/t: /total}}", with: "{\"set\": {  /t: /total  }}"), 1))
    let later = placed + "    - {since: 2, key: /id, on: {OrderPlaced: {set: {/t: /total}}}}\n"
    #expect(try print(later, 2) == print(placed, 1), "since is no part of what a definition says")
    #expect(throws: EvstoreError.unknownProjection("none", known: ["orders"])) { try print(placed, 1, "none") }
}

@Test("a definition of more types than folds have numbers is refused, whoever has stored it")
func tooManyTypes() throws {
    let types = (0 ... 1 << 16).map { "\"t\($0)\":\"delete\"" }.joined(separator: ",")
    let json = Array("{\"key\":{\"value\":\"k\"},\"on\":{\(types)}}".utf8)
    #expect(throws: EvstoreError.self) {
        try DefinitionSet(stored: [StoredDefinition(name: "p", since: SchemaVersion(1), json: json)])
    }
}
