import EventModel
import Testing

@testable import SchemaEvolution

private func rekeyed(_ ops: String, stream: String, _ newStream: String? = nil) throws -> History {
    let shape = "required: [n, a], properties: {n: {type: string}, a: {type: string}}"
    return try history([
        "events: {E: {stream: \"\(stream)\", \(shape)}}",
        "upcast:\n  - rekey: \(ops)\nevents: {E: {stream: \"\(newStream ?? stream)\", \(shape)}}",
    ])
}

@Test("a rekey gives a stream another name at the newer version and finds the way back")
func rekeysBothWays() throws {
    let history = try rekeyed(#"{from: "pkg-{name}:{arch}", to: "package:{arch}:{name}"}"#, stream: "pkg-{/n}:{/a}", "package:{/a}:{/n}")
    #expect(history.check().errors == [])
    let (one, two) = (SchemaVersion(1), SchemaVersion(2))
    let old = try StreamName("pkg-g++:amd64")
    let new = try history.streamName(old, from: one, to: two)
    #expect(new.text == "package:amd64:g++")
    #expect(try history.streamName(new, from: two, to: one) == old)
    #expect(history.spellings(of: new, at: two).map(\.name) == [new, old])
    #expect(history.spellings(of: old, at: one).map(\.name) == [new, old])
    #expect(history.opClass(from: one, to: two) == .iso)
}

@Test("a member that is empty is an empty capture, up and down, and a name that has another way to be read is read as before")
func emptyCaptures() throws {
    let (one, two) = (SchemaVersion(1), SchemaVersion(2))
    func expect(_ ops: String, _ pairs: [(String, String)], stream: String, _ newStream: String) throws {
        let history = try rekeyed(ops, stream: stream, newStream)
        #expect(history.check().errors == [])
        for (old, new) in pairs {
            #expect(try history.streamName(StreamName(old), from: one, to: two).text == new)
            #expect(try history.streamName(StreamName(new), from: two, to: one).text == old)
            #expect(try history.spellings(of: StreamName(old), at: one) == history.spellings(of: StreamName(new), at: two))
        }
    }
    try expect(#"{from: "s-{id}", to: "r-{id}"}"#, [("s-", "r-"), ("s-x", "r-x"), ("other", "other")], stream: "s-{/n}", "r-{/n}")
    try expect(
        #"{from: "pkg-{name}:{arch}", to: "package:{arch}:{name}"}"#,
        [("pkg-:", "package::"), ("pkg-a:", "package::a"), ("pkg-:b", "package:b:"), ("pkg-a:b", "package:b:a")],
        stream: "pkg-{/n}:{/a}", "package:{/a}:{/n}")
    try expect(#"{from: "s{id}-{n}", to: "t-{id}-{n}"}"#, [("s-x", "t--x"), ("s-x-y", "t--x-y")], stream: "s{/n}-{/a}", "t-{/n}-{/a}")
}

@Test("a rekey of streams that are named by a member that may be absent is warned of")
func absentMembers() throws {
    let history = try SchemaEvolutionTests.history([
        "events: {E: {stream: \"s-{/a}:{/n}\", required: [a], properties: {a: {type: string}, n: {type: string}}}}",
        """
        upcast: [{rekey: {from: "s-{a}:{n}", to: "r-{a}:{n}"}}]
        events: {E: {stream: "r-{/a}:{/n}", required: [a], properties: {a: {type: string}, n: {type: string}}}}
        """,
    ])
    #expect(history.check().contains { $0.severity == .warning && $0.message.contains("need not have /n") })
}

@Test(
    "a rekey is warned of if a member may contain the text at which its capture ends, on either side",
    arguments: [
        ("{type: string}", "s-{/a}:{/n}", "r-{n}:{a}", true), ("{type: string}", "s-{/n}", "r-{n}", false),
        ("{type: integer}", "s-{/a}:{/n}", "r-{a}/{n}", false), ("{type: integer}", "s-{/a}-{/n}", "r-{n}-{a}", true),
        ("{type: string}", "s-{/a}-{/n}", "r-{a}-{n}", false),
        ("{type: string, enum: [x, y]}", "s-{/a}:{/n}", "r-{a}/{n}", false),
        ("{type: string, enum: [x, 'y:z']}", "s-{/a}:{/n}", "r-{n}:{a}", true),
        ("{type: string, enum: [x, 'y-']}", "s-{/a}--{/n}", "r-{n}--{a}", true),
        ("{type: string, enum: [x, 'y:z']}", "s-{/n}/{/a}", "r-{a}/{n}", true),
        ("{type: string, enum: [x, 'y:z']}", "s-{/a}/{/n}", "r-{a}:{n}", true),
        ("{type: string, format: date}", "s-{/a}:{/n}", "r-{a}:{n}", false),
        ("{type: string, format: date}", "s-{/a}-{/n}", "r-{n}-{a}", true),
        ("{type: string, format: date-time}", "s-{/a}/{/n}", "r-{a}/{n}", false),
        ("{type: string, format: date-time}", "s-{/a}:{/n}", "r-{n}:{a}", true),
        ("{type: boolean}", "s-{/a}-{/n}", "r-{a}-{n}", false), ("{type: boolean}", "s-{/a}e{/n}", "r-{n}e{a}", true),
    ])
func ambiguousCaptures(a: String, template: String, to: String, isWarned: Bool) throws {
    let from = template.replacing("{/", with: "{")
    func events(_ stream: String) -> String {
        "events: {E: {stream: \"\(stream)\", required: [a, n], properties: {a: \(a), n: {type: string}}}}"
    }
    let history = try SchemaEvolutionTests.history([
        events(template), "upcast: [{rekey: {from: \"\(from)\", to: \"\(to)\"}}]\n" + events(to.replacing("{", with: "{/")),
    ])
    let findings = history.check()
    #expect(findings.errors == [])
    #expect(findings.contains { $0.severity == .warning && $0.message.contains("where its capture ends") } == isWarned)
}

@Test("what happens to a type names the rekeys of its streams, and not those of others")
func rekeysAreNamed() throws {
    let history = try rekeyed(#"{from: "pkg-{name}:{arch}", to: "package:{arch}:{name}"}"#, stream: "pkg-{/n}:{/a}", "package:{/a}:{/n}")
    let path = try history.path(type: "E", born: SchemaVersion(1), to: SchemaVersion(2))
    #expect(path.description == "streams pkg-{name}:{arch} renamed to package:{arch}:{name}")
    #expect(path.isUntouched)
    let other = try rekeyed(#"{from: "old-{key}", to: "new-{key}"}"#, stream: "pkg-{/n}")
    #expect(try other.path(type: "E", born: SchemaVersion(2), to: SchemaVersion(1)).description == "unchanged")
}

@Test("a name that a rekey would give to two streams is refused")
func refusesWhatDoesNotParseBack() throws {
    let history = try rekeyed(#"{from: "setting-legacy_{key}", to: "setting-{key}"}"#, stream: "setting-{/n}")
    #expect(history.check().errors == [])
    let (one, two) = (SchemaVersion(1), SchemaVersion(2))
    #expect(try history.streamName(StreamName("setting-legacy_x"), from: one, to: two).text == "setting-x")
    #expect(try history.streamName(StreamName("other-x"), from: one, to: two).text == "other-x")
    let stop = try failure { try history.streamName(StreamName("setting-x"), from: one, to: two) }
    #expect(stop.op == "rekey (op 1)")
    #expect(stop.pointer == "$stream")
}

@Test("a capture in the last place stands for all that is left of a template: a file that keeps the old template is warned of")
func capturesTheRest() throws {
    let rekey = #"{from: "s-{rest}", to: "r/{rest}"}"#
    for (old, new) in [("s-{/n}-{/a}", "r/{/n}-{/a}"), ("s-x{/n}", "r/x{/n}"), ("s-x", "r/x")] {
        #expect(try rekeyed(rekey, stream: old, new).check().filter { $0.severity != .note } == [], "\(old)")
        let kept = try rekeyed(rekey, stream: old).check().filter { $0.severity != .note }
        #expect(kept.map(\.severity) == [.warning] && kept[0].fix?.contains(new) == true, "\(kept)")
    }
    #expect(try rekeyed(#"{from: "s-{rest}", to: "{rest}/r"}"#, stream: "s-{/n}-{/a}", "{/n}-{/a}/r").check().errors == [])
}

@Test("the stream templates must come out as the rekey makes them")
func rekeysTemplates() throws {
    let history = try rekeyed(#"{from: "pkg-{name}:{arch}", to: "package:{arch}:{name}"}"#, stream: "pkg-{/n}:{/a}")
    #expect(history.check().errors.count == 1)
    #expect(history.check().errors.first?.contains("COMPAT101") == true)
}

@Test(
    "a rekey whose captures can't be told apart is refused with its line",
    arguments: [
        #"{from: "a-{x}", to: "b"}"#, #"{from: "a-{x}{y}", to: "b-{x}-{y}"}"#, #"{from: "a-{/x}", to: "b-{/x}"}"#,
        #"{from: "a-{x}", to: "a-{x}"}"#, #"{from: "a-{x}-{x}", to: "b-{x}"}"#, #"{from: "a {x}", to: "b-{x}"}"#,
    ])
func refusesRekeys(_ ops: String) throws {
    let errors = try rekeyed(ops, stream: "a-{/n}").check().errors
    #expect(errors.count == 1)
    #expect(errors.first?.hasPrefix("v2.yaml:4:") == true, "\(errors)")
}

@Test("a member that names the stream may change where the step rekeys the streams")
func changesMembersWithStreams() throws {
    let shape = "stream: \"setting-{/key}\", required: [key], properties: {key: {type: string}}"
    let convert =
        "convert: {path: /key, to: string, using: {table: {map: {legacy_a: a}, otherwise: keep}}}"
    let rekey = #"rekey: {from: "setting-legacy_{key}", to: "setting-{key}"}"#
    let without = try history(["events: {E: {\(shape)}}", "upcast:\n  - on: E\n    do: [{\(convert)}]\nevents: {E: {\(shape)}}"])
    #expect(without.check().errors.count == 1)
    let with = try history([
        "events: {E: {\(shape)}}", "upcast:\n  - \(rekey)\n  - on: E\n    do: [{\(convert)}]\nevents: {E: {\(shape)}}",
    ])
    #expect(with.check().errors == [])
    #expect(try PathRunner(with).up(#"{"key":"legacy_a"}"#) == #"{"key":"a"}"#)
}

@Test("a member that is made of the stream's name has the name of the step's version, for events of all versions before")
func addsTheNameAtTheStep() throws {
    func shape(_ prefix: String, _ more: [String]) -> String {
        let all = ["n"] + more
        return "{stream: \"\(prefix)-{/n}\", required: [\(all.joined(separator: ", "))], properties: {"
            + all.map { "\($0): {type: string}" }.joined(separator: ", ") + "}}"
    }
    func add(_ member: String) -> String { "{on: E, do: [{add: {path: /\(member), from: $stream}}]}" }
    let history = try SchemaEvolutionTests.history([
        "events: {E: \(shape("user", []))}",
        "upcast: [\(add("of2")), {rekey: {from: \"user-{n}\", to: \"u-{n}\"}}]\nevents: {E: \(shape("u", ["of2"]))}",
        "upcast: [{rekey: {from: \"u-{n}\", to: \"p-{n}\"}}, \(add("of3"))]\nevents: {E: \(shape("p", ["of2", "of3"]))}",
        "upcast: [{split-event: {type: E, into: [{type: E, pick: [/n, /of2, /of3], down: {hide: x}}, "
            + "{type: F, pick: [/n], do: [{add: {path: /of4, from: $stream}}], down: {hide: x}}]}}]"
            + "\nevents: {E: \(shape("p", ["of2", "of3"])), F: \(shape("p", ["of4"]))}",
    ])
    #expect(history.check().errors == [])
    let viewer = PathRunner(history)
    let old = try viewer.images("E", #"{"n":"1"}"#, from: 1, to: 4, validating: true, stream: "user-1")
    #expect(old.map(\.json) == [#"{"n":"1","of2":"u-1","of3":"p-1"}"#, #"{"n":"1","of4":"p-1"}"#])
    let younger = try viewer.images("E", #"{"n":"1","of2":"x"}"#, from: 2, to: 3, validating: true, stream: "u-1")
    #expect(younger.map(\.json) == [#"{"n":"1","of2":"x","of3":"p-1"}"#])
    // On the way down, what the way up would make again is no loss.
    let before = viewer.counts.lost
    _ = try viewer.images("E", #"{"n":"1","of2":"u-1","of3":"p-1"}"#, from: 3, to: 1, validating: true, stream: "p-1")
    #expect(viewer.counts.lost == before)
    var trial = LawTrial(history, isFull: true)
    for version in 1 ... 4 { trial.check(TypeAtVersion(type: "E", version: SchemaVersion(version)), generated: 20, seed: 3) }
    #expect(trial.tally.failures.isEmpty, "\(trial.tally.failures)")
}

@Test("a new type that older versions see as a type of other streams is a finding, since these versions would refuse it there")
func addsAnEventOfOtherStreams() throws {
    func errors(new: String, old: String, down: String, released: String = "") throws -> [Finding] {
        let e = "{\(old)required: [id], properties: {id: {type: string}}}"
        return try SchemaEvolutionTests.history([
            "events: {E: \(e)}",
            "\(released)upcast: [{add-event: {type: F, down: {as: [\(down)]}}}]\n"
                + "events: {E: \(e), F: {\(new)required: [key], properties: {key: {type: string}}}}",
        ]).check().filter { $0.message.contains("would refuse") }
    }
    let (user, order) = ("stream: \"user-{/id}\", ", "stream: \"order-{/key}\", ")
    let move = "{type: E, move: {/key: /id}}"
    #expect(try errors(new: order, old: user, down: move).map(\.severity) == [.error])
    #expect(try errors(new: "", old: user, down: move).map(\.severity) == [.error])
    #expect(try errors(new: order, old: user, down: move, released: "released: 2026-01-01\n").map(\.severity) == [.warning])
    #expect(try errors(new: "stream: \"user-{/key}\", ", old: user, down: move).isEmpty)
    #expect(try errors(new: order, old: "", down: move).isEmpty)
}
