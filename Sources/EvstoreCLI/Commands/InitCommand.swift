internal import ArgumentParser
internal import Evstore

struct InitCommand: Command {
    static let configuration = CommandConfiguration(
        commandName: "init",
        abstract: "Makes a new, empty store.",
        discussion: """
            The version files of --schemas up to the version to begin at, and the projections, are \
            registered in the store, which can then be read without them. `evstore replay --schemas` \
            brings newer ones.

            Example: evstore --store shop init --schemas Schemas/shop --at v1
            """)

    @OptionGroup(title: "Everywhere") var global: GlobalOptions

    @Option(help: ArgumentHelp("The version to begin at; the newest of --schemas where it is not given.", valueName: "vN"))
    var at: String?

    func run(in session: Session) async throws {
        let schemas = try Schemas.load(global.schemasPath(for: "init"))
        let version = try at.map { try schemas.version(named: $0) }
        let store = try await EventStore.create(
            global.storePath(), schemas: schemas, version: version, steps: session.application.steps,
            projections: session.application.projections, options: session.options(), logger: session.logger)
        let (versions, passingPlace) = try (store.versions, store.status().passingPlace)
        try await store.close()
        let object: Members = ["floor": versions.floor, "live": versions.live, "top": versions.top, "head": versions.head]
        try session.output.print(object) { "made \(store.path): \(versions.live) is live, \(versions.head) is the newest it knows" }
        if let passingPlace { session.output.note("note: \(store.path) lies on \(passingPlace)") }
    }
}
