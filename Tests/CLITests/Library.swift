import Bytes
import EvstoreTesting
import Foundation
import JSONText
import TestSupport
import Testing

/// Two versions of a lending library, of which the first is released and nothing is wrong with either.
struct Library {
    let directory: TemporaryDirectory
    private let program = BuiltProgram()

    init() throws {
        directory = try TemporaryDirectory()
        for (name, text) in Self.files { try write(name, text) }
        try write("schemas.lock", try Self.lock.get())
    }

    /// A worked example as it was when none of its versions from one on was released.
    init(domain: String, before version: Int) throws {
        directory = try TemporaryDirectory(copying: Checkout.path("Schemas/\(domain)"))
        var number = version
        while FileManager.default.fileExists(atPath: url("v\(number).yaml").path) {
            try write("v\(number).yaml", directory.text("v\(number).yaml").replacing(#/released: .*\n/#, with: ""))
            number += 1
        }
        let lock = try JSONValue(parsing: [UInt8](Data(contentsOf: url("schemas.lock"))).lent)
        let released = lock["versions"].map { versions -> [JSONValue.Member] in
            guard case .object(let members) = versions else { return [] }
            return members.filter { Int($0.name) ?? 0 < version }
        }
        try write("schemas.lock", #"{"algorithm":"sha256-rfc8785","versions":\#(JSONValue.object(released ?? []).text)}"#)
    }

    /// The lock of the first version, once for all tests.
    private static let lock = Result { try Library(locking: true).lockText() }

    private init(locking: Bool) throws {
        directory = try TemporaryDirectory()
        for (name, text) in Self.files { try write(name, text) }
        try must("lock")
    }

    private func lockText() throws -> String { try directory.text("schemas.lock") }

    func run(_ command: String...) throws -> BuiltProgram.Outcome { try program.run(["schema"] + command + ["--schemas", directory.path]) }

    @discardableResult
    func must(_ command: String...) throws -> BuiltProgram.Outcome {
        try program.must(["schema"] + command + ["--schemas", directory.path])
    }

    /// Runs a line of shell in the directory.
    func shell(_ line: String) throws { try BuiltProgram.shell("cd '\(directory.path)' && \(line)") }

    /// A text in a file becomes another; the file becomes the new one where the old is empty.
    func change(_ file: String, _ old: String, _ new: String) throws {
        if old.isEmpty { try write(file, new) } else { try directory.change(file, old, new) }
    }

    /// Does what is printed below a finding, after which there is none.
    func mend(_ finding: String) throws {
        let before = try verdict().output
        let edits = try #require(try PrintedEdit.of(finding, in: before), "\(before)")
        try #require(!edits.isEmpty, "\(before)")
        try apply(edits)
        let after = try verdict()
        #expect(after.exits == [0, 0] && !after.output.contains(": warning "), "\(before)\nand then\n\(after.output)")
    }

    func url(_ name: String) -> URL { directory.url(name) }

    func write(_ name: String, _ text: String) throws { try directory.write(text, to: name) }

    /// What check and lint say, with names of files below the directory.
    func verdict() throws -> (exits: [Int32], output: String) {
        let (check, lint) = (try run("check"), try run("lint"))
        let text = check.output + check.errors + lint.output + lint.errors
        return ([check.exit, lint.exit], text.replacing(directory.path + "/", with: ""))
    }

    /// Does what the edits of a printed finding say, and nothing else.
    func apply(_ edits: [PrintedEdit]) throws {
        // All edits of a file count in the file as it was: the last one first.
        for edit in edits.reversed() {
            let file = url(edit.file)
            let old = FileManager.default.fileExists(atPath: file.path) ? String(decoding: try Data(contentsOf: file), as: UTF8.self) : ""
            var lines = old.components(separatedBy: "\n")
            let range = (edit.line - 1) ..< (edit.line - 1 + edit.remove.count)
            try #require(range.upperBound <= lines.count && Array(lines[range]) == edit.remove, "\(edit) is not about \(old)")
            lines.replaceSubrange(range, with: edit.insert)
            try write(edit.file, lines.joined(separator: "\n"))
        }
        for edit in edits {
            guard let name = edit.renamed else { continue }
            try FileManager.default.createDirectory(at: url(name).deletingLastPathComponent(), withIntermediateDirectories: true)
            try FileManager.default.moveItem(at: url(edit.file), to: url(name))
        }
    }

    /// A version behind the second, with one optional member more.
    static func later(_ number: Int) -> String {
        let events = files["v2.yaml"]?.components(separatedBy: "\nevents:\n").last ?? ""
        return """
            evstore: 1
            version: \(number)
            description: A note may be left where the book is back.
            upcast:
              - on: BookReturned
                do:
                  - allow: {path: /note, down: absent}
            events:

            """ + events.replacing("format: date-time}\n", with: "format: date-time}\n      note: {type: string}\n")
    }

    static let files = [
        "v1.yaml": """
        evstore: 1
        version: 1
        labels: [1.0.0]
        released: 2026-01-10
        description: Books are lent and brought back.
        events:
          BookLent:
            description: A reader took a book home.
            stream: "book-{/id}"
            required: [id, title, kind, days, reader]
            properties:
              id:     {type: string}
              title:  {type: string}
              kind:   {type: string, enum: [hc, pb]}
              days:   {type: string}
              reader: {type: string}
              note:   {type: string, deprecated: true}
          BookReturned:
            description: The book is back.
            stream: "book-{/id}"
            required: [id, at]
            properties:
              id: {type: string}
              at: {type: string, format: date-time}
          ShelfMoved:
            description: A shelf stands elsewhere.
            stream: "shelf-{/shelf}"
            required: [shelf, metres]
            properties:
              shelf:  {type: string}
              metres: {type: number}

        """,
        "v2.yaml": """
        evstore: 1
        version: 2
        labels: [1.1.0]
        description: Words are whole, days are numbers, losses are told.
        upcast:
          - on: BookLent
            do:
              - convert: {path: /kind, to: string, using: {table: {map: {hc: hardcover, pb: paperback}}}}
              - convert: {path: /days, to: integer, using: integer-text}
              - remove: {path: /note, restore: absent, because: "nobody reads it"}
              - add: {path: /branch, value: 1}
          - drop-event: {type: ShelfMoved, because: "shelves are on a plan"}
          - add-event: {type: BookLost, down: {hide: "version 1 has no losses"}}
        events:
          BookLent:
            description: A reader took a book home.
            stream: "book-{/id}"
            required: [id, title, kind, days, reader, branch]
            properties:
              id:     {type: string}
              title:  {type: string}
              kind:   {type: string, enum: [hardcover, paperback]}
              days:   {type: integer}
              reader: {type: string}
              branch: {type: integer}
          BookReturned:
            description: The book is back.
            stream: "book-{/id}"
            required: [id, at]
            properties:
              id: {type: string}
              at: {type: string, format: date-time}
          BookLost:
            description: Nobody knows where the book is.
            stream: "book-{/id}"
            required: [id]
            properties:
              id: {type: string}

        """,
        "projections.yaml": """
        evstore: 1
        projections:
          loans:
            - since: 1
              key: /id
              on:
                BookLent: {set: {/title: /title}}
                BookReturned: {delete: true}

        """,
        "fixtures/v1/events.jsonl": """
        {"stream":"book-1","type":"BookLent","data":{"id":"1","title":"Emma","kind":"hc","days":"14","reader":"Ada"}}
        {"stream":"book-1","type":"BookReturned","data":{"id":"1","at":"2026-01-11T10:00:00Z"}}
        {"stream":"shelf-a","type":"ShelfMoved","data":{"shelf":"a","metres":1.5}}

        """,
        "fixtures/v2/events.jsonl": """
        {"stream":"book-1","type":"BookLent","data":{"id":"1","title":"Emma","kind":"hardcover","days":14,"reader":"Ada","branch":1}}
        {"stream":"book-1","type":"BookReturned","data":{"id":"1","at":"2026-01-11T10:00:00Z"}}
        {"stream":"book-1","type":"BookLost","data":{"id":"1"}}

        """,
    ]
}

/// An edit as `schema check` and `schema lint` print it below a finding.
struct PrintedEdit {
    var file: String
    var line = 1
    var remove: [String] = []
    var insert: [String] = []
    var renamed: String?

    /// Where the first error or warning stands that has edits; nil where none has.
    static func mendable(in output: String) throws -> String? {
        for line in output.components(separatedBy: "\n") {
            guard line.contains(#/^\S+: (error|warning) \w+/#), let edits = try of(line, in: output) else { continue }
            if !edits.isEmpty { return line }
        }
        return nil
    }

    /// The edits below the finding that begins with a text; nil where none does.
    static func of(_ finding: String, in output: String) throws -> [PrintedEdit]? {
        let lines = output.components(separatedBy: "\n")
        guard let first = lines.firstIndex(where: { $0.hasPrefix(finding) }) else { return nil }
        var edits: [PrintedEdit] = []
        for line in lines[(first + 1)...].prefix(while: { $0.hasPrefix("  ") }) where !line.hasPrefix("  -> ") {
            let text = String(line.dropFirst(7))
            if let match = line.wholeMatch(of: #/     @ (.+) is renamed (.+)/#) {
                if edits.last?.file != String(match.1) { edits.append(PrintedEdit(file: String(match.1))) }
                edits[edits.count - 1].renamed = String(match.2)
            } else if let match = line.wholeMatch(of: #/     @ (.+):(\d+)/#) {
                edits.append(PrintedEdit(file: String(match.1), line: try #require(Int(match.2))))
            } else if line.hasPrefix("     - ") {
                edits[edits.count - 1].remove.append(text)
            } else if line.hasPrefix("     + ") {
                edits[edits.count - 1].insert.append(text)
            } else {
                Issue.record("\(line) is no edit")
            }
        }
        return edits
    }
}
