internal import EventModel

extension Advice {
    /// The sentence with commands and options of this program instead of calls of the library.
    var command: String { said { $0.command } }
}

extension Advice.Call {
    var command: String {
        switch self {
        case .plan: "evstore plan"
        case .replay(let version): "evstore replay --to \(version)"
        case .replayFromEvents(let version): "evstore replay --to \(version) --from-events"
        case .acceptLoss: "--yes"
        case .rollback(let version): "evstore rollback --to \(version)"
        case .rollbackLeaving(let names): "evstore rollback" + names.map { " --without \($0.shellWord)" }.joined()
        case .discardTail: "--discard-tail"
        case .epoch(let epoch): "--epoch \(epoch)"
        case .leaveConsumers: "--leave-consumers"
        case .journal: "evstore journal"
        case .pruneSnapshots: "evstore snapshot prune"
        case .quarantine: "evstore quarantine list"
        case .consumers: "evstore consumers list"
        case .parked(let consumer): "evstore consumers parked \(consumer.shellWord)"
        case .verifyDeep: "evstore verify --deep"
        case .verifyLaws: "evstore verify --laws"
        case .trustSigner: "--trust KEYFILE.pub"
        case .acceptSigned: "evstore verify --since HEADS --sign KEYFILE --accept"
        case .restore: "evstore restore --into DIR"
        case .promote(let store): "evstore --store \(store.shellWord) promote"
        case .salvage(let store): "evstore --store \(store.shellWord) salvage --into DIR"
        case .forget(let stream, let store):
            "evstore\(store.map { " --store \($0.shellWord)" } ?? "") forget \(stream.map(\.text.shellWord) ?? "STREAM") --for-good"
        case .copySlot(let number, let byteCount, let store):
            "dd if=RESTORED/subjects of=\((store + "/subjects").shellWord) bs=\(byteCount) skip=\(number) seek=\(number) count=1 conv=notrunc"
        case .listKeys: "evstore key list"
        case .addKey: "evstore key add"
        case .rotateKey: "evstore key rotate"
        case .recipher: "evstore recipher --into DIR"
        case .createCluster: "evstore cluster create"
        case .eachElement: "--each POINTER, such as /entries, or --each '' for the whole of it"
        case .keepFirst: "an import keeps the first with --same-id keep"
        case .piped(let program): "\(program) FILE | evstore import -"
        case .joinCluster: "evstore join --log CONNINFO --name NAME --node NODE"
        case .acceptServer: "evstore cluster accept-server"
        case .followBackups(let store): "evstore --store \(store.shellWord) follow --from DIR --once"
        case .rescue: "evstore cluster rescue --into FILE"
        case .leaveNodes(let names): names.map { "--without-node \($0.shellWord)" }.joined(separator: " ")
        case .nameSchemas: "--schemas DIR"
        case .newVersion(let directory): "evstore schema new --schemas \(directory.shellWord)"
        case .lockVersions: "evstore schema lock"
        case .showShape(let type, let version): "evstore schema show \(type)@\(version)"
        case .explainSteps: "evstore schema explain"
        case .validatePayload: "evstore schema validate"
        case .recordFixtures(let isOverwriting): "evstore schema fixtures record" + (isOverwriting ? " --overwrite" : "")
        case .dropComments: "--drop-comments"
        }
    }
}
