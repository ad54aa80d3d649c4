/// What can be wrong with a step.
let brokenOps: [BrokenVariant] = [
    .init("a typo in an op", "- add: {", "- ad: {", "v2.yaml:11:9: error OPS306"),
    .init("a typo in an op on events", "- drop-event: {", "- dropevent: {", "v2.yaml:12:5: error OPS306"),
    .init("a member that is not there", "path: /days, to", "path: /day, to", "v2.yaml:9:9: error OPS301"),
    .init("a pointer without its slash", "path: /days, to", "path: days, to", "v2.yaml:9:25: error FILE003"),
    .init("a typo in an argument", "restore: absent", "restor: absent", "v2.yaml:10:31: error FILE002"),
    .init("a typo in a codec", "using: integer-text", "using: integer-txt", "v2.yaml:9:52: error OPS307"),
    .init("a codec that makes something else", "path: /days, to: integer", "path: /days, to: string", "v2.yaml:9:9: error OPS307"),
    .init("a table with a hole", ", pb: paperback", "", "v2.yaml:8:9: error COMPAT102"),
    .init("a table with a word that never came", "pb: paperback}", "pb: paperback, xx: audio}", "v2.yaml:8:9: warning OPS310"),
    .init(
        "a table that makes one of two without a reason", "hc: hardcover, pb: paperback", "hc: book, pb: book",
        "v2.yaml:8:9: error LOSS201", also: ("v2.yaml", "[hardcover, paperback]", "[book]"),
        ("fixtures/v2/events.jsonl", "hardcover", "book")),
    .init("a loss without a reason", ", because: \"nobody reads it\"", "", "v2.yaml:10:9: error LOSS201"),
    .init("a restored value that the older version refuses", "restore: absent", "restore: 7", "v2.yaml:10:9: error COMPAT103"),
    .init("a remove that does not restore", "restore: absent, ", "", "v2.yaml:10:17: error OPS307"),
    .init("an added value that does not fit", "value: 1", "value: main", "v2.yaml:11:9: error COMPAT102"),
    .init("an op that is missing: add", "      - add: {path: /branch, value: 1}\n", "", "v2.yaml:14:3: error COMPAT102"),
    .init(
        "an op that is missing: remove", "      - remove: {path: /note, restore: absent, because: \"nobody reads it\"}\n", "",
        "v2.yaml:14:3: error COMPAT101"),
    .init(
        "an op that is missing: convert", "      - convert: {path: /days, to: integer, using: integer-text}\n", "",
        "v2.yaml:14:3: error COMPAT102"),
    .init(
        "an op that is missing: move", "reader: {type: string}", "borrower: {type: string}", "v2.yaml:15:3: error COMPAT101",
        also: ("v2.yaml", "days, reader, branch", "days, borrower, branch"), ("fixtures/v2/events.jsonl", "\"reader\"", "\"borrower\"")),
    .init(
        "an op that is missing: wrap", "reader: {type: string}", "reader: {type: array, items: {type: string}}",
        "v2.yaml:15:3: error COMPAT102", also: ("fixtures/v2/events.jsonl", "\"Ada\"", "[\"Ada\"]")),
    .init(
        "an op that is missing: allow of a new member", "branch: {type: integer}", "branch: {type: integer}\n      shelf: {type: string}",
        "v2.yaml:15:3: error COMPAT101"),
    .init("an op that is missing: allow of an absence", "[id, title, kind", "[id, kind", "v2.yaml:15:3: error COMPAT101"),
    .init(
        "an op that is missing: allow of a word", "[hardcover, paperback]", "[hardcover, paperback, audio]",
        "v2.yaml:15:3: error COMPAT101"),
    .init(
        "an op that is missing: allow of null", "title:  {type: string}", "title: {type: [string, \"null\"]}",
        "v2.yaml:15:3: error COMPAT101"),
    .init(
        "a type that goes without a word", "  - drop-event: {type: ShelfMoved, because: \"shelves are on a plan\"}\n", "",
        "v2.yaml:6:3: error COMPAT101"),
    .init(
        "a type that comes without a word", "  - add-event: {type: BookLost, down: {hide: \"version 1 has no losses\"}}\n", "",
        "v2.yaml:32:3: error COMPAT101"),
    .init(
        "a type with another name", "  BookReturned:", "  BookBroughtBack:", "v2.yaml:6:3: error COMPAT101",
        also: ("fixtures/v2/events.jsonl", "BookReturned", "BookBroughtBack"), ("projections.yaml", "BookReturned", "BookLent"),
        ("projections.yaml", "        BookLent: {delete: true}\n", "")),
    .init("an item on a type that is not there", "on: BookLent", "on: BookLend", "v2.yaml:6:9: error OPS308"),
    .init("a drop of a type that is not there", "{type: ShelfMoved", "{type: ShelfMovd", "v2.yaml:12:5: error OPS308"),
    .init("a drop without a reason", ", because: \"shelves are on a plan\"", "", "v2.yaml:12:5: error LOSS201"),
    .init("a hidden type without a reason", "\"version 1 has no losses\"", "\"\"", "v2.yaml:13:5: error LOSS201"),
    .init(
        "a type that is blocked where the version promises an image", "down: {hide: \"version 1 has no losses\"}", "down: block",
        "v2.yaml:14:5: error COMPAT103", also: ("v2.yaml", "labels: [1.1.0]", "forward: 1\nlabels: [1.1.0]")),
    .init(
        "a stream that the ops do not make", "stream: \"book-{/id}\"\n    required: [id, at]",
        "stream: \"books-{/id}\"\n    required: [id, at]", "v2.yaml:26:3: error COMPAT101"),
    .init(
        "an allow that allows nothing", "      - add: {", "      - allow: {path: /title, down: absent}\n      - add: {",
        "v2.yaml:11:9: error OPS310"),
    .init(
        "an allow that an older version can't live with", "      - add: {", "      - allow: {path: /title, down: absent}\n      - add: {",
        "v2.yaml:11:9: error COMPAT103", also: ("v2.yaml", "[id, title, kind", "[id, kind")),
    .init(
        "an allowed word that an older version refuses", "      - add: {",
        "      - allow: {path: /kind, down: {table: {audio: vinyl}}}\n      - add: {", "v2.yaml:11:9: error COMPAT103",
        also: ("v2.yaml", "[hardcover, paperback]", "[hardcover, paperback, audio]")),
    .init(
        "a move that does nothing", "      - add: {", "      - move: {from: /title, path: /title}\n      - add: {",
        "v2.yaml:11:15: error OPS310"),
    .init(
        "a remove and an add that are a move", "      - add: {",
        "      - remove: {path: /reader, restore: Ada, because: \"it has another name\"}\n      - add: {path: /borrower, value: Ada}\n      - add: {",
        "v2.yaml:12:9: warning OPS303", also: ("v2.yaml", "reader: {type: string}", "borrower: {type: string}"),
        ("v2.yaml", "days, reader, branch", "days, borrower, branch"), ("fixtures/v2/events.jsonl", "\"reader\"", "\"borrower\"")),
    .init(
        "a list that may be empty where a scalar had to be", "      - add: {", "      - wrap: {path: /reader}\n      - add: {",
        "v2.yaml:11:9: error COMPAT103", also: ("v2.yaml", "reader: {type: string}", "reader: {type: array, items: {type: string}}"),
        ("fixtures/v2/events.jsonl", "\"Ada\"", "[\"Ada\"]")),
    .init(
        "an unset of what is never there", "      - add: {", "      - unset: {path: /title, equals: 7}\n      - add: {",
        "v2.yaml:11:9: error OPS309"),
]
