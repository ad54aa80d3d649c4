import TestSupport
import Testing

/// A history of two versions, and an event of its first one.
struct LossyHistory: CustomTestStringConvertible, Sendable {
    let testDescription: String
    /// What is behind `events:` at version 1, and behind `upcast:` and `events:` at version 2; types are `E`.
    let older, steps, newer: String
    let payload: String
    /// The type that a read model counts.
    var model = "E"
    /// What a replay is given beside the version, and the exit code that it has without that.
    var consent = ""
    var refusal: Int32 = 0
    /// The exit code of `verify --laws` afterwards.
    var laws: Int32 = 0

    static let all = [
        LossyHistory(
            testDescription: "a text that is made of another form than the codec's own",
            older: "{E: {required: [n], properties: {n: {type: string}}}}",
            steps: "[{on: E, do: [{compute: {path: /t, template: 'EUR {/n}'}}, "
                + "{convert: {path: /n, to: integer, using: {decimal: {scale: 2}}}}]}]",
            newer: "{E: {required: [n, t], properties: {n: {type: integer}, t: {type: string}}}}", payload: #"{"n":"5"}"#),
        LossyHistory(
            testDescription: "a copy that goes into a part, and whose source no part has",
            older: "{E: {required: [id, f], properties: {id: {type: string}, f: {type: string}, g: {type: string}}}}",
            steps: "[{on: E, do: [{copy: {from: /f, path: /f2}}]}, {split-event: {type: E, because: x, into: "
                + "[{type: E, pick: [/id, /f2], down: {as: {/f: ''}}}, "
                + "{type: B, pick: [/id, /f, /g], when: {path: /g, exists: true}, down: {hide: of E}}]}}]",
            newer: "{E: {required: [id, f2], properties: {id: {type: string}, f2: {type: string}}}, "
                + "B: {required: [id, f], properties: {id: {type: string}, f: {type: string}, g: {type: string}}}}",
            payload: #"{"id":"1","f":"x"}"#),
        LossyHistory(
            testDescription: "a number that its codec does not take back, which a replay was allowed to lose",
            older: "{E: {required: [n], properties: {n: {type: number}}}}",
            steps: "[{on: E, do: [{convert: {path: /n, to: string, using: number-text}}]}]",
            newer: "{E: {required: [n], properties: {n: {type: string}}}}", payload: #"{"n":0e0}"#, consent: " --yes", refusal: 10),
        LossyHistory(
            testDescription: "an event that is dropped, and without the metadata that a step gives to all",
            older: "{E: {required: [n], properties: {n: {type: integer}}}, F: {required: [n], properties: {n: {type: integer}}}}",
            steps: "[{on: all, do: [{add: {path: /u, from: $metadata/user}}]}, {drop-event: {type: E, because: x}}]",
            newer: "{F: {required: [n], properties: {n: {type: integer}, u: {any: true}}}}", payload: #"{"n":1}"#, model: "F"),
        LossyHistory(
            testDescription: "an event in quarantine whose stream a step gives no name",
            older: "{E: {required: [n], properties: {n: {type: integer}}}}",
            steps: "[{rekey: {from: 'user_{id}', to: 'user-{id}'}}]",
            newer: "{E: {required: [n], properties: {n: {type: integer}}}}", payload: #"{"n":5}"#, consent: " --on-error quarantine",
            refusal: 3, laws: 8),
    ]
}

@Suite("What a drill says of losses")
struct DrillLossTests {
    @Test(
        "a drill passes where events lose only what a step declares, what is never asked for, or what a replay was allowed to lose",
        arguments: LossyHistory.all)
    func passes(_ history: LossyHistory) throws {
        let shop = try Shop()
        try shop.write("lossy/v1.yaml", "evstore: 1\nversion: 1\nevents: \(history.older)\n")
        try shop.write("lossy/v2.yaml", "evstore: 1\nversion: 2\nupcast: \(history.steps)\nevents: \(history.newer)\n")
        try shop.write(
            "lossy/projections.yaml",
            "evstore: 1\nprojections: {p: [{since: 1, key: $stream, on: {\(history.model): {add: {/c: {value: 1}}}}}]}\n")
        try shop.must("init --at v1 --schemas \(shop.path("lossy"))")
        try shop.must("append user-1 E \(history.payload)")
        let replay = "replay --to v2 --schemas \(shop.path("lossy"))"
        #expect(try shop.run(replay).exit == history.refusal)
        let allowed = try shop.run(replay + history.consent)
        #expect(allowed.exit == (history.laws == 8 ? 8 : 0), "\(allowed.errors)")
        let drill = try shop.run("drill")
        #expect(drill.exit == 0, "\(drill.output)\(drill.errors)")
        let laws = try shop.run("verify --laws")
        #expect(laws.exit == history.laws, "\(laws.output)")
    }
}
