internal import Bytes
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
    /// The store's state when this was planned.
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
        if !newVersions.isEmpty || hasNewDefinitions { try Self.check(history, self.definitions) }
        let promised = try Self.promised(stored.history, registered, state)
        let wanted = try Self.promised(history, self.definitions, state)
        defersDefinitions = hasNewDefinitions && promised != wanted
    }

    /// The log as it reads after the registration.
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

    /// Replaces the registered definitions.
    func writeDefinitions(to update: inout LogUpdate) throws {
        let wanted = Set(definitions.stored.map(RegisteredRows.key))
        for row in try update.rows(.definitions) where !wanted.contains(row.key) { try update.delete(.definitions, row.key) }
        try RegisteredRows.register(&update, definitions: definitions)
    }

    private static func check(_ history: History, _ definitions: DefinitionSet) throws(EvstoreError) {
        let errors = (history.check() + definitions.check(against: history)).filter { $0.severity == .error }
        if !errors.isEmpty { throw .schemaInvalid(errors) }
    }
}
