/// What can be wrong in `Schemas/packages`.
let brokenPackages: [DomainVariant] = [
    .init("a dispatch with a hole", 2, "        disappear: PackageDisappeared\n", "", "v2.yaml:7:5: error COMPAT102"),
    .init("a dispatch to a misspelled type", 2, "purge: PurgeBegan", "purge: PurgeBegun", "v2.yaml:7:3: error COMPAT101"),
    .init("a split that does not say what a text without separator is", 3, ", missing: absent", "", "v3.yaml:9:16: error FILE002"),
    .init("a split at a misspelled end", 3, "at: last", "at: lst", "v3.yaml:9:83: error OPS307"),
    .init(
        "a drop without a reason", 4, ", because: \"the state lines around a trigger run say what it did\"", "",
        "v4.yaml:7:5: error LOSS201"),
    .init(
        "an unset of a misspelled member", 4, "StateChanged\n    do:\n      - unset: {path: /version,",
        "StateChanged\n    do:\n      - unset: {path: /vesion,", "v4.yaml:14:9: error OPS301"),
    .init("a misspelled all", 5, "on: all", "on: al", "v5.yaml:7:9: error OPS308"),
    .init(
        "local times that become RFC 3339 by nothing", 5,
        "  - on: all\n    do:\n      - convert: {path: /at, to: string, using: {local-time: {offset: Z}}}\n",
        "  - on: ConffileDecided\n    do: []\n", "v5.yaml:10:3: error COMPAT102", steps: 9),
    .init("an offset by its name", 5, "offset: Z", "offset: UTC", "v5.yaml:9:71: error OPS307"),
    .init(
        "a stream with another separator", 3, "  StateChanged:\n    stream: \"pkg-{/name}:{/architecture}\"",
        "  StateChanged:\n    stream: \"pkg-{/name}-{/architecture}\"", "v3.yaml:11:3: error COMPAT101"),
    .init(
        "a misspelled member in the key of a read model", 5, in: "projections.yaml", "key: {day: /at}", "key: {day: /att}",
        "projections.yaml:44:12: error PROJ103"),
    .init(
        "a misspelled event type in a read model", 5, in: "projections.yaml",
        "        PurgeBegan:   {add: {/actions/purge: {value: 1}}, set: {/last: /at}}",
        "        PurgeBegn:   {add: {/actions/purge: {value: 1}}, set: {/last: /at}}", "projections.yaml:41:9: error PROJ102", steps: 2),
    .init(
        "a misspelled verb in a read model", 5, in: "projections.yaml", "RunStarted: {add: {/runs: {value: 1}}}",
        "RunStarted: {ad: {/runs: {value: 1}}}", "projections.yaml:58:22: error FILE002"),
]

/// What can be wrong in `Schemas/vault`.
let brokenVault: [DomainVariant] = [
    .init(
        "a misspelled default of old data", 1,
        "{/category: {value: \"\"}, /notes: {value: \"\"}}\n    convert:\n      - {path: /createdAt, to: string, using: epoch-millis}",
        "{/categry: {value: \"\"}, /notes: {value: \"\"}}\n    convert:\n      - {path: /createdAt, to: string, using: epoch-millis}",
        "v1.yaml:20:15: error OPS301"),
    .init(
        "a misspelled type that old data becomes", 1, "    as: EntrySaved\n    stream", "    as: EntrySavd\n    stream",
        "v1.yaml:16:5: error OPS308"),
    .init("a misspelled quarantine", 1, "otherwise: quarantine", "otherwise: quarantin", "v1.yaml:23:16: error OPS307"),
    .init(
        "a required member that nothing adds", 2, "upcast:\n  - on: EntrySaved\n    do:\n      - add: {path: /tags, value: []}\n", "",
        "v2.yaml:7:3: error COMPAT102"),
    .init("an add without a value", 2, ", value: []", "", "v2.yaml:9:9: error OPS307"),
    .init(
        "a wrap of a member under its new name", 3, "      - move: {from: /category, path: /categories}\n", "", "v3.yaml:9:9: error OPS301",
        steps: 2),
    .init("a wrap that does not say which value is none", 3, ", empty: \"\"", "", "v3.yaml:10:9: error COMPAT103"),
    .init("a scalar that nothing makes a list", 3, "      - wrap: {path: /categories, empty: \"\"}\n", "", "v3.yaml:11:3: error COMPAT102"),
    .init(
        "a member with another name that became a list", 3,
        "upcast:\n  - on: EntrySaved\n    do:\n      - move: {from: /category, path: /categories}\n      - wrap: {path: /categories, empty: \"\"}\n",
        "", "v3.yaml:7:3: error COMPAT101", steps: 2),
    .init(
        "an optional member that nothing allows", 5, "  - on: EntrySaved\n    do:\n      - allow: {path: /otpSeed, down: absent}\n", "",
        "v5.yaml:9:3: error COMPAT101"),
    .init(
        "a type that is new and nothing says so", 5,
        "  - add-event: {type: EntryViewed, down: {hide: \"version 4 had no trail of views\"}}\n", "", "v5.yaml:32:3: error COMPAT101"),
    .init(
        "a new type that does not say what older versions see", 5, ", down: {hide: \"version 4 had no trail of views\"}", "",
        "v5.yaml:10:16: error FILE002"),
    .init("an allowed member that does not say what older versions see", 5, ", down: absent", "", "v5.yaml:9:16: error FILE002"),
]

/// What can be wrong in `Schemas/settings`.
let brokenSettings: [DomainVariant] = [
    .init("a misspelled $time", 3, "from: $time", "from: $tme", "v3.yaml:11:39: error OPS307"),
    .init("an added object without one of its members", 3, ", language: en}", "}", "v3.yaml:10:9: error COMPAT102", seen: false),
    .init(
        "two words that become one without a reason", 4, ", because: \"both were followed as the system's theme\"", "",
        "v4.yaml:13:15: error LOSS201"),
    .init("a misspelled answer of a table", 4, "otherwise: keep", "otherwise: kep", "v4.yaml:16:32: error OPS307", steps: 2),
    .init("a misspelled $metadata", 4, "$metadata/appVersion", "$meta/appVersion", "v4.yaml:10:17: error OPS307"),
    .init("a part of a misspelled type", 5, "{type: BackupSet, pick", "{type: BackupSt, pick", "v5.yaml:12:13: error OPS308"),
    .init("a part of a misspelled member", 5, "pick: [/user, /autoBackup]", "pick: [/user, /autobackup]", "v5.yaml:12:13: error OPS301"),
    .init(
        "a part without a member that it needs", 5, "pick: [/user, /autoBackup]", "pick: [/autoBackup]", "v5.yaml:12:13: error COMPAT103",
        seen: false),
]
