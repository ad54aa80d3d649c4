/// What can be wrong with the text of a file and the shapes in it.
let brokenShapes: [BrokenVariant] = [
    .init("a tab", "    do:\n", "\t  do:\n", "v2.yaml:7:1: error FILE001"),
    .init("a byte order mark", "evstore: 1", "\u{feff}evstore: 1", "v2.yaml:1:1: error FILE001"),
    .init(
        "an anchor and its alias", "title:  {type: string}", "title:  &text {type: string}", "v2.yaml:21:15: error FILE001",
        also: ("v2.yaml", "reader: {type: string}", "reader: *text")),
    .init("a tag", "version: 2", "version: !!int 2", "v2.yaml:2:10: error FILE001"),
    .init("a member twice", "labels: [1.1.0]\n", "labels: [1.1.0]\nlabels: [1.2.0]\n", "v2.yaml:4:1: error FILE001"),
    .init("a version in quotes", "version: 2", "version: \"2\"", "v2.yaml:2:10: error FILE003"),
    .init("a label that is a number", "[1.1.0]", "[1.1]", "v2.yaml:3:10: error FILE003"),
    .init("a misspelled member of the file", "description: Words", "descripton: Words", "v2.yaml:4:1: error FILE002"),
    .init("a misspelled keyword", "required: [id, at]", "requierd: [id, at]", "v2.yaml:29:5: error FILE004"),
    .init("a type of another language", "days:   {type: integer}", "days: {type: int}", "v2.yaml:23:20: error FILE004"),
    .init(
        "a type that is not said", "days:   {type: integer}\n", "days:   {type: integer}\n      size:   {}\n",
        "v2.yaml:25:15: error FILE004", also: ("v2.yaml", "      - add: {", "      - allow: {path: /size, down: absent}\n      - add: {")),
    .init(
        "null without quotes", "days:   {type: integer}\n", "days:   {type: integer}\n      size:   {type: [integer, null]}\n",
        "v2.yaml:25:32: error FILE004", also: ("v2.yaml", "      - add: {", "      - allow: {path: /size, down: absent}\n      - add: {")),
    .init("a flag that is a word", "title:  {type: string}", "title:  {type: string, personal: yes}", "v2.yaml:21:40: error FILE003"),
    .init("a required member with a typo", "[id, title, kind", "[id, titel, kind", "v2.yaml:18:20: error FILE004"),
    .init("a required member that is not there", "required: [id]", "required: [id, why]", "v2.yaml:36:20: error FILE004"),
    .init("a required member twice", "required: [id]", "required: [id, id]", "v2.yaml:36:20: error FILE004"),
    .init(
        "an object that is closed by hand", "    required: [id, at]", "    additionalProperties: false\n    required: [id, at]",
        "v2.yaml:29:27: error FILE004"),
    .init("a format with another spelling", "format: date-time", "format: datetime", "v2.yaml:32:34: error FILE004"),
    .init("a bound on a text", "title:  {type: string}", "title:  {type: string, minimum: 1}", "v2.yaml:21:30: error FILE004"),
    .init(
        "bounds that cross", "reader: {type: string}", "reader: {type: string, minLength: 9, maxLength: 1}", "v2.yaml:24:41: error FILE004"),
    .init("a word twice", "[hardcover, paperback]", "[hardcover, paperback, hardcover]", "v2.yaml:22:59: error FILE004"),
    .init("a default that does not fit", "branch: {type: integer}", "branch: {type: integer, default: x}", "v2.yaml:25:40: error FILE004"),
    .init(
        "a reference with a typo", "title:  {type: string}", "title: {$ref: \"#/$defs/Titel\"}", "v2.yaml:23:21: error FILE005",
        also: ("v2.yaml", "events:", "$defs:\n  Title: {type: string}\nevents:")),
    .init(
        "a stream without its slash", "stream: \"book-{/id}\"\n    required: [id]", "stream: \"book-{id}\"\n    required: [id]",
        "v2.yaml:35:13: error FILE006"),
    .init(
        "a stream of a member with a typo", "stream: \"book-{/id}\"\n    required: [id]", "stream: \"book-{/di}\"\n    required: [id]",
        "v2.yaml:35:13: error FILE006"),
]
