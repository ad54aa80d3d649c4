public import EventModel

/// A reason why a store is not well: `status` reports it, `/healthz` answers with it, and the page shows it. The page Operating lists them
/// all.
@nonexhaustive
public enum Complaint: Hashable, Sendable {
    /// The files at the path are not those that this handle has open, or there are none.
    case replaced(path: String)
    /// Appends are refused because the disk has no room.
    case diskFull(reason: String)
    /// The file system can't be written, as after an error of the disk: the system then remounts it so.
    case readOnly(path: String)
    /// This node has events that its cluster log lacks: the cluster log was set back.
    case forked(reason: String)
    /// This node was taken out of its cluster log, or another store has taken its place.
    case takenOut(node: String, log: String)
    /// Another directory uses this node's identity: one is a copy of the other.
    case twin(node: String)
    /// The cluster log has been unreachable for this long.
    case clusterUnreachable(reason: String, for: Duration)
    /// The last drill failed.
    case drillFailed(at: Timestamp)
    /// A consumer can't handle an event, and has not moved past it.
    case consumerFailing(String, at: Position, reason: String)
    /// A cut has taken off events that a consumer had handled, and it can't go on.
    case consumerCutOff(String, seen: Position, cut: Position)
    /// A reader holds the pages of many commits, so that the file grows.
    case longReader(OldestReader)
    /// A consumer has put events aside.
    case parked(consumer: String, events: UInt64)
    /// Live read models lack events, each counted once.
    case quarantined(events: UInt64, readModels: [String])

    /// How urgent a complaint is, the gravest first.
    public enum Weight: Int, Hashable, Sendable, CaseIterable, Comparable {
        /// A function of the store does not work now.
        case failing
        /// Everything works, but somebody has something to do.
        case waiting
        /// Everything works, but events were left out.
        case leftOut

        public static func < (a: Self, b: Self) -> Bool { a.rawValue < b.rawValue }
    }

    private var traits: (code: String, weight: Weight, endsService: Bool) {
        switch self {
        case .replaced: ("replaced", .failing, true)
        case .diskFull: ("diskFull", .failing, false)
        case .readOnly: ("readOnly", .failing, false)
        case .forked: ("forked", .failing, true)
        case .takenOut: ("takenOut", .failing, true)
        case .twin: ("twin", .failing, true)
        case .clusterUnreachable: ("clusterUnreachable", .failing, false)
        case .drillFailed: ("drillFailed", .waiting, false)
        case .consumerFailing: ("consumerFailing", .waiting, false)
        case .consumerCutOff: ("consumerCutOff", .waiting, false)
        case .longReader: ("longReader", .waiting, false)
        case .parked: ("parked", .leftOut, false)
        case .quarantined: ("quarantined", .leftOut, false)
        }
    }

    public var weight: Weight { traits.weight }

    /// Whether callers should be sent elsewhere: what they read or write here does not reach the store that they mean.
    public var endsService: Bool { traits.endsService }

    /// The complaint's name, which never changes.
    public var code: String { traits.code }

    /// What is wrong, as a clause.
    public var message: String {
        switch self {
        case .replaced(let path): "other files lie at \(path) than those that are open here, or none"
        case .diskFull(let reason): reason
        case .readOnly(let path): "the file system of \(path) is read-only, and appends are refused"
        case .forked(let reason): reason
        case .takenOut(let node, let log): "the node \(node) was taken out of the cluster log \(log), or another store has taken its place"
        case .twin(let node): "another directory speaks as the node \(node): one of the two is a copy"
        case .clusterUnreachable(let reason, let duration): "\(reason), for \(duration.inWords) now"
        case .drillFailed(let time): "the drill of \(time) failed"
        case .consumerFailing(let name, let position, let reason): "\(name) can't handle the event at position \(position): \(reason)"
        case .consumerCutOff(let name, let seen, let cut):
            "\(name) has handled events up to position \(seen), the log was cut at \(cut) since, and it can't go on"
        case .longReader(let reader): "process \(reader.process) has read for \(reader.commitsBehind) commits, and the log grows meanwhile"
        case .parked(let consumer, let events): "\(consumer) has parked \(counted(events, "event"))"
        case .quarantined(let events, let models):
            "\(counted(events, "event")) in quarantine, which \(models.joined(separator: " and ")) \(models.count == 1 ? "lacks" : "lack")"
        }
    }

    /// What to do next.
    public var advice: Advice {
        switch self {
        case .replaced: "close the store, and open what lies there now"
        case .diskFull: "free some space"
        case .readOnly: "see what the system's log says of the disk, and mount it for writing"
        case .forked: "export what only it has (\(.rescue)), and join anew in another directory: \(.joinCluster)"
        case .takenOut: "join anew in another directory: \(.joinCluster)"
        case .twin: "close one of the two, and let it leave"
        case .clusterUnreachable: "see to the cluster log: appends wait for it"
        case .drillFailed: "see its report in drills/, and rehearse again"
        case .consumerFailing: "see \(.consumers), and the program that it hands events to"
        case .consumerCutOff(let name, _, let cut):
            "see what it did for the events that are gone, and let it go on where the log was cut: \(.resetConsumer(name, to: cut))"
        case .longReader(let reader): "end process \(String(reader.process)), or let it read anew"
        case .parked(let name, _): "see \(.parked(name))"
        case .quarantined: "see \(.quarantine)"
        }
    }
}

extension Complaint: CustomStringConvertible {
    /// What is wrong and what to do next. The advice names calls of the library.
    public var description: String { "\(message): \(advice)" }
}
