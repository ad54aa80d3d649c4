/// What can be wrong with a directory of version files, and what lint has to say.
let brokenFiles: [BrokenVariant] = [
    .init("a version that is not its file's", "version: 2", "version: 3", "v2.yaml:2:10: error LOG001"),
    .init(
        "a released version that the lock does not hold", in: "schemas.lock", "",
        #"{"algorithm": "sha256-rfc8785", "versions": {}}"#, "v1.yaml:1:1: warning LOG002"),
    .init(
        "versions 1, 2 and 4", in: "v4.yaml", "", Library.later(4), "v4.yaml:2:10: error LOG001",
        also: ("fixtures/v4/events.jsonl", "", Library.files["fixtures/v2/events.jsonl"] ?? "")),
    .init(
        "a file with another ending", in: "v3.yml", "", Library.later(3), "v3.yml:1:1: error LOG001",
        also: ("fixtures/v3/events.jsonl", "", Library.files["fixtures/v2/events.jsonl"] ?? "")),
    .init(
        "a fixture that is missing", in: "fixtures/v2/events.jsonl",
        "{\"stream\":\"book-1\",\"type\":\"BookLost\",\"data\":{\"id\":\"1\"}}\n", "", "v2.yaml:33:1: warning LOG005"),
    .init(
        "a version that does not say what it changes", "description: Words are whole, days are numbers, losses are told.\n", "",
        "v2.yaml:1:1: warning STYLE404"),
    .init(
        "a type that does not say what happened", "    description: Nobody knows where the book is.\n", "", "v2.yaml:33:3: warning STYLE404"
    ),
    .init(
        "an amount that is rounded", "  - drop-event: {type: ShelfMoved, because: \"shelves are on a plan\"}\n",
        "  - on: ShelfMoved\n    do: [{convert: {path: /metres, to: integer, using: {scale: {num: 100, round: down}}}}]\n  - drop-event: {type: ShelfMoved, because: \"shelves are on a plan\"}\n",
        "v2.yaml:13:10: warning LOSS203"),
    .init(
        "a waiver without a reason", in: "rules.yaml", "", "waive:\n  - {id: STYLE404, until: 2999-12-31}\n",
        "rules.yaml:2:5: error POLICY501"),
    .init(
        "a waiver that has ended", in: "rules.yaml", "", "waive:\n  - {id: STYLE404, because: \"a sketch\", until: 2001-12-31}\n",
        "rules.yaml:2:5: error POLICY501"),
    .init("a typo in an op that is forbidden", in: "rules.yaml", "", "forbid: [mvoe]\n", "rules.yaml:1:9: error OPS306"),
]
