internal import Bytes
package import EventModel
internal import JSONText

/// The way of an event to a version and back: through which branches of the programs, what both count, and whether it comes back as it
/// was. Events of one way go through the same instructions, so that the laws that a few of them keep, and what they lose, hold for all.
struct LawWay: Hashable {
    fileprivate let route, image: Int
    fileprivate let there, back: Leg
    fileprivate let isSame: Bool

    /// What an event was led through, and what that counted.
    fileprivate struct Leg: Hashable {
        var branches: UInt64 = 0
        var lost = 0
        var otherForms = 0
    }

    /// What the laws found for the events of a way that were tried.
    struct Outcome {
        let verdicts: [LawVerdict]
        let losses: Set<LossAccount.Entry>
        /// How many events were not tried, being like those that were.
        var likes: UInt64 = 0
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
}

/// Leads events to versions and back; keeps what it needs for each type.
struct LawRoutes: ~Copyable {
    /// How events of one type and birth version are led to a version.
    private struct Route {
        let kind: TypeAtVersion
        let target: SchemaVersion
        /// Nil where an event may have more than one image, or its ops are followed one by one.
        let there: Path?
        /// By the image's type.
        var back: [Int: Path?] = [:]
    }

    /// An image, copied.
    fileprivate struct Made: ~Copyable {
        var payload = ByteBuffer(capacity: 4096)
        var type = ""
        var index = 0
        var count = 0

        mutating func take(_ image: borrowing Image) {
            count += 1
            (type, index) = (image.type, image.typeIndex)
            payload.removeAll()
            payload.append(image.payload)
        }
    }

    /// Leads events in one direction.
    private struct Leader: ~Copyable {
        private var workspace = Workspace()
        /// The image of the event that was led last.
        var made = Made()

        mutating func lead(
            _ path: Path, _ image: borrowing Made, of event: borrowing SourceEvent, stream: @autoclosure () throws -> String
        ) throws -> LawWay.Leg? {
            let source = SourceEvent(payload: image.payload.bytes, time: event.time, metadata: event.metadata)
            return try lead(path, source, stream: try stream())
        }

        /// Makes the one image of an event; nil where there is not one, or its ops had to be followed. Of what the programs are proved to
        /// make nothing is checked: the events of a way that are tried show it.
        mutating func lead(
            _ path: Path, _ event: borrowing SourceEvent, stream: @autoclosure () throws -> String
        ) throws -> LawWay.Leg? {
            made.count = 0
            let before = workspace.counts
            try Viewer.run(path, event, stream: try stream(), in: &workspace) { made.take($0) }
            guard made.count == 1, let branches = workspace.way else { return nil }
            let cost = workspace.counts - before
            return LawWay.Leg(branches: branches, lost: cost.lost, otherForms: cost.nonCanonical)
        }
    }

    private let viewer: Viewer
    private var routes: [Route] = []
    /// The route of the event before.
    private var latest = 0
    private var there = Leader()
    private var returned = Leader()

    init(_ viewer: Viewer) { self.viewer = viewer }

    /// The way of an event; nil where it has not one image, or its ops are followed one by one.
    /// - Parameter stream: what its stream is called at a version.
    mutating func way(
        of event: borrowing SourceEvent, _ kind: TypeAtVersion, at target: SchemaVersion, stream: (SchemaVersion) throws -> String
    ) -> LawWay? {
        do {
            let index = try route(kind, target)
            guard let path = routes[index].there,
                let there = try there.lead(path, event, stream: try stream(kind.version)),
                let path = try back(index),
                let back = try returned.lead(path, self.there.made, of: event, stream: try stream(target))
            else { return nil }
            let isSame = returned.made.isSame(as: event, kind.type)
            if !isSame { try viewer.history.requireShape(of: returned.made.type, at: kind.version).validate(returned.made.payload.bytes) }
            return LawWay(route: index, image: self.there.made.index, there: there, back: back, isSame: isSame)
        } catch { return nil }
    }

    private mutating func route(_ kind: TypeAtVersion, _ target: SchemaVersion) throws -> Int {
        func isRoute(_ route: Route) -> Bool { route.target == target && route.kind == kind }
        if latest < routes.count, isRoute(routes[latest]) { return latest }
        if let known = routes.firstIndex(where: isRoute) {
            latest = known
        } else {
            routes.append(Route(kind: kind, target: target, there: try single(kind.type, from: kind.version, to: target)))
            latest = routes.count - 1
        }
        return latest
    }

    /// The way back of the image that was made last.
    private mutating func back(_ route: Int) throws -> Path? {
        if let known = routes[route].back[there.made.index] { return known }
        let path = try single(there.made.type, from: routes[route].target, to: routes[route].kind.version)
        routes[route].back.updateValue(path, forKey: there.made.index)
        return path
    }

    private func single(_ type: String, from: SchemaVersion, to: SchemaVersion) throws -> Path? {
        if from.number == 0 { return nil }
        let path = try viewer.path(type: type, born: from, to: to)
        return (path.fused != nil || path.unchanged != nil) && !path.merges ? path : nil
    }
}

extension LawRoutes.Made {
    fileprivate borrowing func isSame(as event: borrowing SourceEvent, _ type: String) -> Bool {
        guard self.type.isSame(as: type) else { return false }
        if payload.bytes.equals(event.payload) { return true }
        do { return try JSONEquality.same(payload.bytes, event.payload) } catch { return false }
    }
}

/// Shared by the copies of a trial, of which one runs.
final class LawLeader {
    var routes: LawRoutes

    init(_ viewer: Viewer) { routes = LawRoutes(viewer) }
}

extension LawTrial {
    /// Counts the next event of a log like others of its way, of which enough were tried. False where it has to be tried itself.
    /// - Parameter stream: what its stream is called at a version.
    package mutating func isLikeOthers(
        next event: borrowing SourceEvent, _ kind: TypeAtVersion, at place: LogPlace, _ target: SchemaVersion,
        stream: (SchemaVersion) throws -> String
    ) -> Bool {
        guard let way = way(of: event, kind, at: target, stream: stream), count(way, at: place.position) else { return false }
        pass(place, at: [target])
        return true
    }

    /// The way of an event of the log; nil where all laws are tried, or where nothing is known of ways.
    func way(
        of event: borrowing SourceEvent, _ kind: TypeAtVersion, at target: SchemaVersion, stream: (SchemaVersion) throws -> String
    ) -> LawWay? {
        guard triesEach < .max, ways.count < LawWay.most, kind.version.number > 0, kind.version != target else { return nil }
        return leader.routes.way(of: event, kind, at: target, stream: stream)
    }

    /// Counts an event of the log like those of its way, where enough of them were tried.
    mutating func count(_ way: LawWay, at position: Position?) -> Bool {
        guard let place = ways.index(forKey: way), ways.values[place].isLike(after: triesEach) else { return false }
        ways.values[place].likes += 1
        noted.losses.add(ways.values[place].losses, at: position ?? .start)
        return true
    }

    /// What was found so far.
    package var tally: LawTally {
        var tally = noted
        for outcome in ways.values { tally.count(outcome.verdicts, ofLogEvents: outcome.likes) }
        return tally
    }
}
