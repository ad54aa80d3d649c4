internal import ArgumentParser
internal import Evstore

struct DiffCommand: Command {
    static let configuration = CommandConfiguration(
        commandName: "diff",
        abstract: "Prints the keys whose rows differ between two versions of a read model.",
        discussion: """
            Example: evstore diff orders --at v4 --at v5
            """)

    @OptionGroup(title: "Everywhere") var global: GlobalOptions

    @Argument(help: "The projection's name.") var projection: String
    @Argument(help: "One row's key.") var key: String?

    @Option(help: ArgumentHelp("A version; twice.", valueName: "vN")) var at: [String]

    func validate() throws {
        if at.count != 2 { throw ValidationError("diff needs --at twice: evstore diff \(projection) --at v4 --at v5") }
    }

    func run(in session: Session) async throws {
        try await session.withStore(.writingIfAllowed) { store in
            let (a, b) = try (store.version(named: at[0]), store.version(named: at[1]))
            var differing = 0
            var lines = Lines(session)
            let notes = try await store.diff(projection, a: a, b: b, key: key) { row in
                differing += 1
                return lines.next { try row.write(to: $0, a: a, b: b) }
            }
            try lines.end()
            notes.a.write(projection, to: session.output)
            notes.b.write(projection, to: session.output)
            if let key, differing == 0, try await store.query(projection, at: a, key: key) == nil {
                return session.output.note("note: \(projection) has no row \(quoted(key)), neither at \(a) nor at \(b)")
            }
            let verb = differing == 1 ? "differs" : "differ"
            session.output.remark(differing == 0 ? "\(a) and \(b) are equal" : "\(counted(differing, "key")) \(verb)")
        }
    }
}

extension RowDifference {
    func write(to output: Output, a versionA: SchemaVersion, b versionB: SchemaVersion) throws {
        try output.row(["key": key, "a": a.map(CheckedJSON.init), "b": b.map(CheckedJSON.init)]) {
            key
            for (version, row) in [(versionA, a), (versionB, b)] {
                "  \(version)  \(row.map { String(decoding: $0, as: UTF8.self) } ?? "no such row")"
            }
        }
    }
}
