package import EventModel
package import Hashing
internal import JSONText
package import SchemaEvolution

/// A projection as it is defined at one version.
package struct Definition: Sendable {
    package let name: String
    /// The version from which on this definition holds.
    package let since: SchemaVersion
    /// The version that it was looked up for; types and pointers are those of this version.
    package let version: SchemaVersion
    package let consumes: Set<Name>
    /// Names generations: equal for versions at which the read model is the same.
    package let fingerprint: Digest
    /// The shape that every row has to keep; nil where none is declared.
    package let rowShape: EventShape?
    package let isSwift: Bool
    package let indexes: RowIndexes
    /// Nil where it is written in Swift.
    let declared: DeclaredProjection?
    /// Nil where it is written in Swift and this program does not have it.
    private let compile: (@Sendable () -> any Fold)?

    /// Grows with every change of what steps and folds make of the same files and events.
    static let engine: UInt64 = 3

    init(_ entry: DefinitionSet.Entry, named name: String, at version: SchemaVersion, _ history: History) throws(EvstoreError) {
        (self.name, self.version, since) = (name, version, entry.since)
        let json: [UInt8]
        var reading: (Name) -> [JSONPointer]? = { _ in nil }
        switch entry {
        case .declared(let projection):
            json = projection.json.canonical()
            consumes = projection.consumes
            isSwift = false
            indexes = RowIndexes(projection.indexes.map(\.index))
            rowShape = projection.row.map { EventShape(shape: $0) }
            compile = { DeclarativeFold(projection, at: version, history) }
            reading = projection.reads
            declared = projection
        case .swift(let declaration):
            json = declaration.json.canonical()
            consumes = declaration.consumes
            isSwift = true
            indexes = RowIndexes(declaration.indexes)
            rowShape = nil
            declared = nil
            if let program = declaration.program { compile = { SwiftFold(program) } } else { compile = nil }
        }
        var hasher = SHA256Hasher()
        hasher.update(Self.engine)
        hasher.update(UInt64(name.utf8.count))
        hasher.update(name)
        hasher.update(UInt64(json.count))
        hasher.update(json)
        hasher.update(history.stepsDigest(for: consumes, at: version, reading: reading).bytes)
        fingerprint = hasher.finalize()
    }

    /// Whether this program can follow and build it.
    package var isAvailable: Bool { compile != nil }

    /// Makes a fold for one thread: counting references to a shared one would be slow.
    /// - Throws: `EvstoreError.programNeeded`.
    func makeFold() throws(EvstoreError) -> any Fold {
        guard let compile else { throw .programNeeded(what: "the projection \(name)") }
        return compile()
    }
}
