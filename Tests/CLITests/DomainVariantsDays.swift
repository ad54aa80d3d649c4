/// What can be wrong in `Schemas/saves`.
let brokenSaves: [DomainVariant] = [
    .init(
        "a restored value that the older version refuses", 3, "restore: \"1.0.0\", ", "restore: \"1.0\", ", "v3.yaml:9:9: error COMPAT103"),
    .init(
        "a convert without a codec", 3, "/place/y, to: integer, using: integer-text", "/place/y, to: integer",
        "v3.yaml:12:18: error FILE002"),
    .init(
        "a text that nothing makes a number", 3, "      - convert: {path: /place/y, to: integer, using: integer-text}\n", "",
        "v3.yaml:14:3: error COMPAT102"),
    .init("an older word that never was", 4, "nightmare: hard", "nightmare: hrd", "v4.yaml:11:9: error COMPAT103"),
    .init(
        "a word that nothing allows", 4, "      - allow: {path: /difficulty, down: {table: {nightmare: hard}}}\n", "",
        "v4.yaml:14:3: error COMPAT101", seen: false),
    .init(
        "a member that nothing moves into an object", 4, "      - move: {from: /credits, path: /purse/credits}\n", "",
        "v4.yaml:14:3: error COMPAT101", seen: false),
    .init("a required number that nothing adds", 4, "      - add: {path: /purse/gems, value: 0}\n", "", "v4.yaml:14:3: error COMPAT102"),
]

/// What can be wrong in `Schemas/cycles`.
let brokenCycles: [DomainVariant] = [
    .init(
        "a type that is new and nothing says so", 2,
        "upcast:\n  - add-event: {type: InsightRecorded, down: {hide: \"version 1 has no insights\"}}\n", "",
        "v2.yaml:28:3: error COMPAT101"),
    .init(
        "a blocked type where rules.yaml wants an image", 2, "down: {hide: \"version 1 has no insights\"}", "down: block",
        "v2.yaml:7:5: warning COMPAT103"),
    .init("an added word that never was", 4, "value: pending", "value: pendng", "v4.yaml:10:9: error COMPAT102"),
    .init(
        "an optional member of four types that nothing allows", 4, "      - allow: {path: /lastSyncedAt, down: absent}\n", "",
        "v4.yaml:13:3: error COMPAT101", steps: 4),
    .init("a misspelled op in rules.yaml", 4, in: "rules.yaml", "forbid: [remove", "forbid: [remov", "rules.yaml:5:9: error OPS306"),
]

/// What can be wrong in `Schemas/reminders`.
let brokenReminders: [DomainVariant] = [
    .init("a day that is a copy of a moment", 2, ", using: rfc3339-date", "", "v2.yaml:13:3: error COMPAT102"),
    .init("a move to a misspelled place", 3, "path: /content/body", "path: /contents/body", "v3.yaml:12:3: error COMPAT101"),
    .init("a member that nothing moves", 3, "      - move: {from: /body, path: /content/body}\n", "", "v3.yaml:11:3: error COMPAT101"),
    .init(
        "a new object of old members that nothing moves", 3,
        "upcast:\n  - on: ReminderScheduled\n    do:\n      - move: {from: /title, path: /content/title}\n      - move: {from: /body, path: /content/body}\n",
        "", "v3.yaml:7:3: error COMPAT101", steps: 2),
]
