internal import EventLog
package import EventModel
internal import Hashing
package import Projections
package import SchemaEvolution

/// Version files and projection definitions to register, checked before anything is written.
///
/// Registering moves the head and changes nothing else. Definitions that would change what a promised version
/// (floor…top) means are deferred: they are written by the flip.
package struct Register: Sendable {
    let state: StoreState
    /// All versions and definitions after the registration.
    package let history: History
    package let definitions: DefinitionSet
    private let newVersions: [VersionFile]
    private let hasNewDefinitions: Bool
    /// Whether the definitions must wait for the flip.
    let defersDefinitions: Bool

    /// - Throws: `EvstoreError.versionDiffers`, `schemaInvalid`, `unknownVersion`.
    package init(
        _ context: MigrationContext, files: History?, definitions: DefinitionSet?, through version: SchemaVersion
    ) throws(EvstoreError) {
        let stored = try context.evolving.current()
        let rows = try context.log.reading { reader in try reader.rows(.definitions) }
        let registered = try RegisteredRows.definitions(rows)
        state = stored.state
        let versions = try Self.versions(stored.history, files, through: version, state, context)
        history = versions.history
        newVersions = versions.changed
        guard version.rawValue >= 1, version <= history.head else {
            throw .unknownVersion(version.description, known: history.versions.map(\.number.description))
        }
        self.definitions = try Self.merged(registered, definitions, history, context)
        hasNewDefinitions = self.definitions.digest != registered.digest
        if !newVersions.isEmpty || hasNewDefinitions {
            let errors = self.definitions.errors(in: history, taking: newVersions, isSealed: context.options.secret != nil)
            if !errors.isEmpty { throw .schemaInvalid(errors) }
        }
        let promised = try Self.promised(stored.history, registered, state)
        let wanted = try Self.promised(history, self.definitions, state)
        defersDefinitions = hasNewDefinitions && promised != wanted
    }

    func evolving(_ context: MigrationContext) -> VersionedLog { context.evolving.assuming(history: history, definitions: definitions) }

    /// Writes what is new and not deferred in one transaction. Does nothing where nothing is new.
    func write(_ context: MigrationContext) async throws(EvstoreError) -> StoreState {
        let writesDefinitions = hasNewDefinitions && !defersDefinitions
        guard !newVersions.isEmpty || writesDefinitions else { return state }
        let (planned, register) = (state, self)
        MigrationPhase.reached(.registerBefore)
        let state = try await context.log.changing { update in
            try update.requireStamp(of: planned)
            try RegisteredRows.register(&update, versions: register.newVersions)
            if writesDefinitions { try register.writeDefinitions(to: &update) }
            try update.state.checkNumbers()
            let digest = update.state.history.hex
            try Journal.append(
                .init(.register, from: planned.head, to: update.state.head, position: update.last.position, digest: digest),
                to: &update)
            MigrationPhase.reached(.registerInside)
            return update.state
        }
        MigrationPhase.reached(.registerAfter)
        return state
    }

    func writeDefinitions(to update: inout LogUpdate) throws {
        let wanted = Set(definitions.stored.map(RegisteredRows.key))
        for row in try update.rows(.definitions) where !wanted.contains(row.key) { try update.delete(.definitions, row.key) }
        try RegisteredRows.register(&update, definitions: definitions)
    }
}

extension Register {
    /// Merges the files' versions up to `version` into the store's: adds new ones, and replaces those that may still change.
    static func versions(
        _ stored: History, _ files: History?, through version: SchemaVersion, _ state: StoreState, _ context: MigrationContext
    ) throws(EvstoreError) -> Registration {
        let files = files?.versions.filter { $0.number <= version } ?? []
        let changeable = try oldestChangeable(state, context)
        return try stored.adding(files) { $0.number >= changeable }
    }

    /// The lowest version that may still change: no event was born at or above it, and no live version, of any node, depends on it.
    private static func oldestChangeable(_ state: StoreState, _ context: MigrationContext) throws(EvstoreError) -> SchemaVersion {
        let born = try context.census().map(\.born).max() ?? SchemaVersion(0)
        let live = try context.log.reading { try $0.nodes() }.map(\.live).max() ?? state.live
        return max(born, state.live, live).next
    }

    /// Findings about files that are not the versions that the store has registered, each with what differs.
    package static func differences(_ context: MigrationContext, from files: History) throws(EvstoreError) -> [Finding] {
        let evolution = try context.evolving.current()
        let changeable = try oldestChangeable(evolution.state, context)
        var findings: [Finding] = []
        for file in files.versions {
            guard let stored = evolution.history[file.number], stored.digest != file.digest else { continue }
            let mayChange = !stored.isReleased && file.number >= changeable
            let parts = try file.differences(from: stored).joined(separator: ", ")
            findings.append(
                Finding(
                    id: "LOG006", severity: mayChange ? .note : .error, file: file.file, line: 1, column: 1,
                    message: "\(file.number) is not what the store has registered; what differs: \(parts)",
                    fix: mayChange
                        ? "a replay registers this one in its place: no event was written at it"
                        : "undo the edit, or make it in a new version: v\(evolution.history.head.number + 1)"))
        }
        return findings
    }

    /// The definitions after registering: those of a projection file replace those of the file before it, registered ones in Swift stay,
    /// and this program's own are added.
    ///
    /// Definitions that begin above the head wait until their version is registered.
    static func merged(
        _ registered: DefinitionSet, _ file: DefinitionSet?, _ history: History, _ context: MigrationContext
    ) throws(EvstoreError) -> DefinitionSet {
        let swift = Array("{\"swift\":".utf8)
        let kept = registered.stored.filter { file == nil || $0.json.starts(with: swift) }
        return try DefinitionSet(stored: kept).merging(file ?? .empty).adding(context.evolving.swiftProjections).through(history.head)
    }

    /// The fingerprints of the read models of each promised version: where they are equal, registering changes none of them.
    static func promised(_ history: History, _ definitions: DefinitionSet, _ state: StoreState) throws(EvstoreError) -> [Set<Digest>] {
        try state.floor.through(state.top).map { (version) throws(EvstoreError) in
            Set(try definitions.definitions(at: version, history).map(\.fingerprint))
        }
    }
}
