internal import Bytes
internal import EventModel

/// The way of an event to a version and back: through which branches of the programs, what both count, and whether it comes back as it
/// was. Events of one way go through the same instructions, so that the laws that a few of them keep, and what they lose, hold for all.
struct LawWay: Hashable {
    private let type, image: String
    private let born, target: SchemaVersion
    private let there, back: UInt64
    private let costs: [PathCounts]
    private let isSame: Bool

    /// What the laws found for the events of a way that were tried.
    struct Outcome {
        let verdicts: [LawVerdict]
        let losses: Set<LossAccount.Entry>
        private var tried = 0
        /// Whether all of them had the same outcome, none of which is a failure.
        private var agrees = true

        init(verdicts: [LawVerdict], losses: Set<LossAccount.Entry>) {
            (self.verdicts, self.losses) = (verdicts, losses)
            agrees = verdicts.allSatisfy { $0.holds || $0.weight == .measured }
        }

        mutating func take(_ found: [LawVerdict], _ lost: Set<LossAccount.Entry>) {
            tried += 1
            agrees =
                agrees && lost == losses && found.count == verdicts.count
                && zip(found, verdicts).allSatisfy { $0.law == $1.law && $0.holds == $1.holds && $0.weight == $1.weight }
        }

        /// Whether enough were tried to take the next one to be like them.
        func isLike(after tries: Int) -> Bool { agrees && tried >= tries }
    }

    /// How many are kept of one history: what takes more ways is tried event by event.
    fileprivate static let most = 1 << 14

    /// Leads an event there and back; nil where it has not one image, or its ops are followed one by one.
    fileprivate init?(_ event: LawEvent, _ target: SchemaVersion, _ viewer: Viewer) {
        let start = GroupPart(type: event.type, payload: event.payload)
        guard let up = Self.lead(start, of: event, from: event.born, to: target, viewer),
            let down = Self.lead(up.image, of: event, from: target, to: event.born, viewer)
        else { return nil }
        (type, image, born, self.target) = (event.type, up.image.type, event.born, target)
        (there, back, costs) = (up.way, down.way, [up.cost, down.cost])
        isSame = LawTrial.isSame([down.image], [start])
        if !isSame, !Self.fits(down.image, event.born, viewer.history) { return nil }
    }

    private static func fits(_ image: GroupPart, _ version: SchemaVersion, _ history: History) -> Bool {
        do { try history.requireShape(of: image.type, at: version).validate(image.payload.lent) } catch { return false }
        return true
    }

    /// The one image of an event, or of its image; what is led back is not checked against its shape.
    private static func lead(
        _ part: GroupPart, of event: LawEvent, from: SchemaVersion, to: SchemaVersion, _ viewer: Viewer
    ) -> (image: GroupPart, way: UInt64, cost: PathCounts)? {
        var images: [GroupPart] = []
        let before = viewer.counts
        do {
            let path = try viewer.path(type: part.type, born: from, to: to)
            guard path.fused != nil || path.unchanged != nil, !path.merges else { return nil }
            let source = SourceEvent(payload: part.payload.lent, time: event.time, metadata: event.metadata.lent)
            try viewer.run(path, source, stream: event.stream(at: from, viewer.history), validating: to != event.born) {
                images.append(GroupPart(type: $0.type, payload: [UInt8](copying: $0.payload)))
            }
            guard images.count == 1, let way = path.unchanged == nil ? viewer.workspace.way : 0 else { return nil }
            return (images[0], way, viewer.counts - before)
        } catch { return nil }
    }
}

extension LawTrial {
    /// The way of an event of the log; nil where all laws are tried, or where nothing is known of ways.
    func way(of events: [LawEvent], at target: SchemaVersion) -> LawWay? {
        guard triesEach < .max, ways.count < LawWay.most, events.count == 1 else { return nil }
        let event = events[0]
        return event.origin == .log && event.born.number > 0 && event.born != target ? LawWay(event, target, viewer) : nil
    }
}
