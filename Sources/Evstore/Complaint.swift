public import EventModel

/// Why a store is not well: what `status` says, `/healthz` answers and the page shows. The page Operating has a table of them.
@nonexhaustive
public enum Complaint: Hashable, Sendable {
    /// Other files lie at the path than those that are open here, or none.
    case replaced(path: String)
    /// Appends are refused for lack of room.
    case diskFull(reason: String)
    /// This node has events that its cluster log has not: that was set back.
    case forked(reason: String)
    /// This node was taken out of its cluster log, or another store has taken its place.
    case takenOut(node: String, log: String)
    /// Another directory speaks as this node: one is a copy of the other.
    case twin(node: String)
    /// The cluster log can't be followed, and for how long it could not.
    case clusterUnreachable(reason: String, seconds: Double)
    /// The last drill failed.
    case drillFailed(at: Timestamp)
    /// A consumer can't handle an event, and has not moved past it.
    case consumerFailing(String, at: Position, reason: String)
    /// A reader keeps the pages of many commits, and the file grows.
    case longReader(OldestReader)
    /// A consumer has put events aside.
    case parked(consumer: String, events: UInt64)
    /// Live read models lack events, each counted once.
    case quarantined(events: UInt64, readModels: [String])

    /// What it asks for, the gravest first.
    public enum Weight: Int, Hashable, Sendable, CaseIterable, Comparable {
        /// Something that the store is for does not work now.
        case failing
        /// Everything works, and somebody has something to do.
        case waiting
        /// Everything works, but for events that were left out.
        case leftOut

        public static func < (a: Self, b: Self) -> Bool { a.rawValue < b.rawValue }
    }

    public var weight: Weight {
        switch self {
        case .replaced, .diskFull, .forked, .takenOut, .twin, .clusterUnreachable: .failing
        case .drillFailed, .consumerFailing, .longReader: .waiting
        case .parked, .quarantined: .leftOut
        }
    }

    /// Whether callers should be sent elsewhere: what is asked or written here does not reach the store that it is meant for.
    public var endsService: Bool {
        switch self {
        case .replaced, .forked, .takenOut, .twin: true
        case .diskFull, .clusterUnreachable, .drillFailed, .consumerFailing, .longReader, .parked, .quarantined: false
        }
    }

    /// Its name, which does not change.
    public var code: String {
        switch self {
        case .replaced: "replaced"
        case .diskFull: "diskFull"
        case .forked: "forked"
        case .takenOut: "takenOut"
        case .twin: "twin"
        case .clusterUnreachable: "clusterUnreachable"
        case .drillFailed: "drillFailed"
        case .consumerFailing: "consumerFailing"
        case .longReader: "longReader"
        case .parked: "parked"
        case .quarantined: "quarantined"
        }
    }

    /// What is wrong, as a clause.
    public var message: String {
        switch self {
        case .replaced(let path): "other files lie at \(path) than those that are open here, or none"
        case .diskFull(let reason): reason
        case .forked(let reason): reason
        case .takenOut(let node, let log): "the node \(node) was taken out of the cluster log \(log), or another store has taken its place"
        case .twin(let node): "another directory speaks as the node \(node): one of the two is a copy"
        case .clusterUnreachable(let reason, let seconds): "\(reason), for \(duration(seconds: seconds)) now"
        case .drillFailed(let time): "the drill of \(time) failed"
        case .consumerFailing(let name, let position, let reason): "\(name) can't handle the event at position \(position): \(reason)"
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
        case .forked: "export what only it has (\(.rescue)), and join anew in another directory: \(.joinCluster)"
        case .takenOut: "join anew in another directory: \(.joinCluster)"
        case .twin: "close one of the two, and let it leave"
        case .clusterUnreachable: "see to the cluster log: appends wait for it"
        case .drillFailed: "see its report in drills/, and rehearse again"
        case .consumerFailing: "see \(.consumers), and the program that it hands events to"
        case .longReader(let reader): "end process \(String(reader.process)), or let it read anew"
        case .parked(let name, _): "see \(.parked(name))"
        case .quarantined: "see \(.quarantine)"
        }
    }
}

extension Complaint: CustomStringConvertible {
    /// What is wrong and what to do next, with calls of the library.
    public var description: String { "\(message): \(advice)" }
}
