package import EventModel
package import Hashing
internal import JSONText
package import SchemaEvolution

/// A projection as defined at one version.
package struct Definition: Sendable {
    package let name: String
    /// The first version at which this definition applies.
    package let since: SchemaVersion
    /// The version for which it was looked up; types and pointers refer to this version.
    package let version: SchemaVersion
    package let consumes: Set<Name>
    /// Identifies generations: equal for versions at which the read models are equal.
    package let fingerprint: Digest
    /// The shape that every row must fit; nil if none is declared.
    package let rowShape: EventShape?
    package let isSwift: Bool
    package let indexes: RowIndexes
    /// Nil if it is written in Swift.
    let declared: DeclaredProjection?
    /// Nil if it is written in Swift and this program does not contain it.
    private let compile: (@Sendable () -> any Fold)?

    /// Increases with every change in what steps and folds produce from unchanged files and events.
    static let engine: UInt64 = 3

    init(_ entry: DefinitionSet.Entry, named name: String, at version: SchemaVersion, _ history: History) throws(EvstoreError) {
        (self.name, self.version, since) = (name, version, entry.since)
        let json = entry.json
        var reading: (Name) -> [JSONPointer]? = { _ in nil }
        switch entry {
        case .declared(let projection):
            consumes = projection.consumes
            isSwift = false
            indexes = RowIndexes(projection.indexes.map(\.index))
            rowShape = projection.row.map { EventShape(shape: $0) }
            compile = { DeclarativeFold(projection, at: version, history) }
            reading = projection.reads
            declared = projection
        case .swift(let declaration):
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

    /// Whether this program can build and follow it.
    package var isAvailable: Bool { compile != nil }

    /// Makes a fold for one thread, since reference counting of a shared fold would be slow.
    /// - Throws: `EvstoreError.programNeeded`.
    func makeFold() throws(EvstoreError) -> any Fold {
        guard let compile else { throw .programNeeded(what: "the projection \(name)") }
        return compile()
    }
}
