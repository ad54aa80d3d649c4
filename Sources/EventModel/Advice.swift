/// A sentence that says what to do next. It names calls of the library; the command line replaces each call by its command.
public struct Advice: Hashable, Sendable, CustomStringConvertible {
    fileprivate enum Part: Hashable, Sendable {
        case text(String)
        case call(Call)
    }

    fileprivate var parts: [Part]

    /// The sentence with calls of the library, as a program shows it.
    public var description: String { said { $0.description } }

    package var calls: [Call] { parts.compactMap { if case .call(let call) = $0 { call } else { nil } } }

    /// The sentence with each call replaced by the result of `words`.
    package func said(by words: (Call) -> String) -> String {
        parts.map { part in
            switch part {
            case .text(let text): text
            case .call(let call): words(call)
            }
        }.joined()
    }
}

extension Advice: ExpressibleByStringInterpolation {
    public struct StringInterpolation: StringInterpolationProtocol {
        fileprivate var parts: [Part] = []

        public init(literalCapacity: Int, interpolationCount: Int) {}

        public mutating func appendLiteral(_ literal: String) { parts.append(.text(literal)) }
        public mutating func appendInterpolation(_ value: some CustomStringConvertible) { parts.append(.text(value.description)) }
        public mutating func appendInterpolation(_ advice: Advice) { parts += advice.parts }
        package mutating func appendInterpolation(_ call: Call) { parts.append(.call(call)) }
    }

    public init(stringLiteral text: String) { parts = [.text(text)] }
    public init(stringInterpolation: StringInterpolation) { parts = stringInterpolation.parts }
}

extension Advice {
    /// A call of the library for which the command line has a command or an option.
    package enum Call: Hashable, Sendable {
        // Migrating.
        case plan(to: SchemaVersion)
        case replay(to: SchemaVersion)
        case replayFromEvents(to: SchemaVersion)
        case acceptLoss
        case rollback(to: SchemaVersion)
        case rollbackLeaving([String])
        case discardTail
        case epoch(Epoch)
        case leaveConsumers
        case journal
        case pruneSnapshots
        case query(String, at: SchemaVersion)
        case quarantine
        case consumers
        case parked(String)
        case resetConsumer(String, to: Position)

        // Verifying.
        case verifyDeep
        case verifyLaws
        case trustSigner
        case acceptSigned

        // Keeping.
        case backUp(into: String)
        case restore
        case promote(store: String)
        case salvage(store: String)
        case forget(StreamName?, store: String?)
        /// The bytes of one slot of the file `subjects`, copied from a restored backup.
        case copySlot(UInt32, byteCount: Int, store: String)
        case listKeys
        case addKey
        case rotateKey
        case recipher

        // Importing.
        case eachElement
        case keepFirst
        case piped(through: String)

        // In a cluster.
        case createCluster
        case joinCluster
        case acceptServer
        case followBackups(store: String)
        case rescue
        case leaveNodes([String])

        // Version files.
        case nameSchemas
        case newVersion(directory: String)
        case lockVersions
        case showShape(type: String, SchemaVersion)
        case explainSteps
        case validatePayload
        case recordFixtures(overwriting: Bool)
        case dropComments
    }
}

extension Advice.Call: CustomStringConvertible {
    package var description: String {
        switch self {
        case .plan(let version): "plan(to: \(version))"
        case .replay(let version): "migrate(to: \(version))"
        case .replayFromEvents(let version): "migrate(to: \(version)) with MigrationOptions(fromEvents: true)"
        case .acceptLoss: "yes: true"
        case .rollback(let version): "rollback(to: \(version))"
        case .rollbackLeaving(let names): "rollback(without: [\(names.map { "\"\($0)\"" }.joined(separator: ", "))])"
        case .discardTail: "discardTail: true"
        case .epoch(let epoch): "epoch: Epoch(\(epoch))"
        case .leaveConsumers: "leavingConsumers: true"
        case .journal: "maintenance.journal()"
        case .pruneSnapshots: "maintenance.pruneSnapshots(keeping:)"
        case .query(let projection, let version): "query(\"\(projection)\", at: \(version))"
        case .quarantine: "quarantine()"
        case .consumers: "consumers()"
        case .parked(let consumer): "parked(of: \"\(consumer)\")"
        case .resetConsumer(let name, let position): "maintenance.resetConsumer(\"\(name)\", to:) with a place at position \(position)"
        case .verifyDeep: "maintenance.verify(deep: true)"
        case .verifyLaws: "maintenance.verify(laws: true)"
        case .trustSigner: "trusting:"
        case .acceptSigned: "maintenance.verify(signing:since:accepting: true)"
        case .backUp(let directory): "maintenance.backUp(into: \"\(directory)\")"
        case .restore: "StoreMaintenance.restore(from:into:)"
        case .promote: "maintenance.promote()"
        case .salvage: "StoreMaintenance.salvage(_:into:)"
        case .forget(let stream, _): "forget([\(stream.map { "\"\($0)\"" } ?? "…")])"
        case .copySlot(let number, let byteCount, _): "\(byteCount) bytes from byte \(Int(number) * byteCount) of the file subjects on"
        case .listKeys: "maintenance.keys()"
        case .addKey: "maintenance.addKey(_:)"
        case .rotateKey: "maintenance.rotateKey()"
        case .recipher: "maintenance.recipher(into:secret:)"
        case .createCluster: "Cluster.create(schemas:)"
        case .eachElement: "ImportOptions(each: \"/entries\"), or each: \"\" for the whole of it"
        case .keepFirst: "sameID: .keepFirst keeps the first"
        case .piped(let program): program
        case .joinCluster: "StoreMaintenance.join(_:as:into:)"
        case .acceptServer: "maintenance.acceptServer()"
        case .followBackups: "StoreMaintenance.follow(from:into:)"
        case .rescue: "maintenance.rescue(_:)"
        case .leaveNodes(let names): "withoutNodes: [\(names.map { "\"\($0)\"" }.joined(separator: ", "))]"
        case .nameSchemas: "schemas:"
        // Operations on version files have no library call; they are described by name.
        case .newVersion: "schema new"
        case .lockVersions: "schema lock"
        case .showShape(let type, let version): "schema show \(type)@\(version)"
        case .explainSteps: "schema explain"
        case .validatePayload: "schema validate"
        case .recordFixtures(let isOverwriting): "schema fixtures record" + (isOverwriting ? ", overwriting" : "")
        case .dropComments: "dropping comments"
        }
    }
}
