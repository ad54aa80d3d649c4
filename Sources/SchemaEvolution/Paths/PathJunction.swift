internal import Bytes
internal import EventModel
internal import JSONText

/// The point on the way down where the parts of one event are joined again.
final class PathJunction: Sendable {
    struct Arm: Sendable {
        let pick: [MemberLocation]
        /// The values that the part supplies to its event in place of what other parts would have contributed.
        let fill: BoundFill?
        /// The segment for a part that arrives alone.
        let lone: PathSegment
    }

    /// Junctions are processed in the order of the crossings.
    let order: Int
    let step: SchemaVersion
    let arms: [Arm]
    /// Members whose values are equal in parts that belong together; empty if all arriving parts belong to one event.
    let on: [JSONPointer]
    /// The segment for the event to which several parts are joined.
    let joined: PathSegment
    /// Whether a part supplies a member of an object that another part supplies as a whole.
    let divides: Bool

    init(order: Int, step: SchemaVersion, arms: [Arm], on: [JSONPointer], joined: PathSegment) {
        (self.order, self.step, self.arms, self.on, self.joined) = (order, step, arms, on, joined)
        let pointers = Set(arms.flatMap { $0.pick.map { $0.pointer } })
        divides = pointers.contains { $0.prefixes.dropLast().contains { pointers.contains($0) } }
    }
}

/// Identifies the event from which a step made a part. Within that step, parts of equal origin are joined before they are joined with
/// others.
struct PartOrigin: Equatable {
    let step: SchemaVersion
    let number: Int
}

struct PartSource {
    /// The index of its event in the group.
    let event: Int
    /// Nil if it is not a part of an event within its step.
    let origin: PartOrigin?
}

/// The parts of one event at a version, which are converted together.
final class PathGroup: Sendable {
    /// Identifies the group in messages.
    let path: Path
    let roots: [PathSegment]

    init(path: Path, roots: [PathSegment]) { (self.path, self.roots) = (path, roots) }
}

/// The parts that were joined at a junction, and the segment that continues with the result.
struct JunctionMatch {
    let segment: PathSegment
    /// The indices of their events in the group, in order.
    let sources: [Int]
    /// Whether there is one part for each arm.
    let isWhole: Bool
    /// The origin that all of them share, if any.
    let origin: PartOrigin?

    /// The index of the event that the joined event counts as.
    var source: Int { sources.last ?? 0 }
}

/// An event of a group, as text.
package struct GroupPart: Hashable, Sendable {
    package var type: String
    package var payload: [UInt8]

    package init(type: String, payload: [UInt8]) { (self.type, self.payload) = (type, payload) }
}

/// The parts of one event in order: those that wait at a junction until all others have arrived or ended, and the images that follow a
/// waiting part. Once warm, it allocates one array for each match, unless a step made parts of one event or parts divide an object.
struct JunctionQueue: ~Copyable {
    private enum Stand {
        /// The key is in `texts`.
        case junction(PathJunction, arm: Int, key: Range<Int>)
        case image(PathEnd)
    }

    private struct Part {
        var stand: Stand
        /// Its payload in `texts`.
        var text: Range<Int>
        /// The index of its event in the group.
        var source: Int
        /// Its origin, if the step of its junction made it.
        var origin: PartOrigin?
    }

    /// Those before `head` have gone, so that removing the first elements is cheap.
    private var parts: [Part] = []
    private var head = 0
    /// For each order of junctions, how many parts wait, and how many of these have an origin.
    private var waiting: [(order: Int, parts: Int, related: Int)] = []
    /// The index of the next part: behind everything that the current part has become so far.
    private var cursor = 0
    /// The indices of the parts that are joined next, in order.
    private var met: [Int] = []
    private var texts = ByteBuffer()
    private var value = ByteBuffer()
    private var side = EventDocument()

    init() {}

    var isEmpty: Bool { head == parts.count }

    mutating func removeAll() {
        parts.removeAll(keepingCapacity: true)
        waiting.removeAll(keepingCapacity: true)
        (head, cursor) = (0, 0)
        texts.removeAll()
    }

    mutating func add(
        _ doc: inout JSONEditor, _ object: JSONEditor.Node, _ junction: PathJunction, _ arm: Int, of source: PartSource
    ) {
        let key = texts.count
        Self.writeKey(&doc, object, junction, into: &texts, by: &value)
        let start = texts.count
        doc.write(object, into: &texts)
        let within = source.origin.flatMap { $0.step == junction.step ? $0 : nil }
        count(1, related: within == nil ? 0 : 1, at: junction.order)
        add(
            Part(
                stand: .junction(junction, arm: arm, key: key ..< start), text: start ..< texts.count, source: source.event, origin: within)
        )
    }

    private mutating func count(_ parts: Int, related: Int, at order: Int) {
        let place = waiting.firstIndex { $0.order == order } ?? waiting.count
        if place == waiting.count { waiting.append((order, 0, 0)) }
        waiting[place].parts += parts
        waiting[place].related += related
        if waiting[place].parts == 0 { waiting.remove(at: place) }
    }

    mutating func add(_ end: PathEnd, _ payload: borrowing ByteBuffer, from source: Int) {
        let start = texts.count
        texts.append(payload.bytes)
        add(Part(stand: .image(end), text: start ..< texts.count, source: source, origin: nil))
    }

    private mutating func add(_ part: Part) {
        parts.insert(part, at: cursor)
        cursor += 1
    }

    /// Writes the members that the parts share in canonical form: however values are spelled, equal ones have one key.
    private static func writeKey(
        _ doc: inout JSONEditor, _ object: JSONEditor.Node, _ junction: PathJunction, into key: inout ByteBuffer, by value: inout ByteBuffer
    ) {
        for pointer in junction.on {
            if let node = doc.find(pointer, from: object) {
                value.removeAll()
                doc.write(node, into: &value)
                // A number beyond what can be canonical is compared as it is spelled.
                do throws(JSONError) { try Canonical.write(value.bytes, into: &key) } catch { key.append(value.bytes) }
            }
            key.append(0)
        }
    }

    /// Removes the first element if it is an image, writes its payload, and returns its end and the index of its event.
    mutating func nextImage(into output: inout ByteBuffer) -> (end: PathEnd, source: Int)? {
        guard head < parts.count, case .image(let end) = parts[head].stand else { return nil }
        output.removeAll()
        output.append(texts.slice(parts[head].text.lowerBound, parts[head].text.count))
        let source = parts[head].source
        head += 1
        cursor = max(head, cursor)
        return (end, source)
    }

    /// Whether a part, which is for an arm and has a key, belongs to the same event as others: at most one part of each type takes part.
    private func joins(_ others: [Int], arm: Int, key: Range<Int>) -> Bool {
        others.allSatisfy {
            guard case .junction(_, let other, let its) = parts[$0].stand else { return false }
            return other != arm && texts.slice(its.lowerBound, its.count).equals(texts.slice(key.lowerBound, key.count))
        }
    }

    /// Finds the parts that are joined next at the junction of an order: those that its step made of one event, or else the first of each
    /// type.
    private mutating func meet(at order: Int, related: Bool) -> PathJunction? {
        var next: PathJunction?
        var kin: [Int: [Int]] = [:]
        met.removeAll(keepingCapacity: true)
        for index in head ..< parts.count {
            guard case .junction(let junction, let arm, let key) = parts[index].stand, junction.order == order,
                junction === next ?? junction
            else { continue }
            next = junction
            if joins(met, arm: arm, key: key) { met.append(index) }
            if related, let origin = parts[index].origin?.number, joins(kin[origin, default: []], arm: arm, key: key) {
                kin[origin, default: []].append(index)
            }
            if met.count == junction.arms.count, !related { break }
        }
        if let own = kin.values.filter({ $0.count > 1 }).min(by: { $0[0] < $1[0] }) { met = own }
        return next
    }

    /// Removes the parts that are joined at the next junction and loads them as one event; nil if nothing waits.
    ///
    /// The event takes the position of the first of the parts that belong to the last of their events.
    mutating func next(_ doc: inout EventDocument) throws(JSONError) -> JunctionMatch? {
        guard let first = waiting.min(by: { $0.order < $1.order }),
            let junction = meet(at: first.order, related: first.related > 0)
        else { return nil }
        let segment = try join(at: junction, &doc)
        var origin = parts[met[0]].origin
        var (related, sources): (Int, [Int]) = (0, [])
        sources.reserveCapacity(met.count)
        for index in met {
            if parts[index].origin != origin { origin = nil }
            if parts[index].origin != nil { related += 1 }
            sources.append(parts[index].source)
        }
        count(-met.count, related: -related, at: first.order)
        sources.sort()
        let place = met.first { parts[$0].source == sources.last } ?? head
        let before = place - head - met.count { $0 < place }
        let start = head
        for index in met.reversed() { remove(index - start) }
        cursor = head + before
        return JunctionMatch(segment: segment, sources: sources, isWhole: met.count == junction.arms.count, origin: origin)
    }

    /// Loads the parts that meet at a junction as one event, and returns the segment with which it continues.
    private mutating func join(at junction: PathJunction, _ doc: inout EventDocument) throws(JSONError) -> PathSegment {
        if met.count == 1, case .junction(_, let arm, _) = parts[met[0]].stand {
            try doc.splice.load(texts, parts[met[0]].text)
            return junction.arms[arm].lone
        }
        try doc.splice.load(Self.empty.lent)
        var taken: [JSONPointer] = []
        var there: UInt64 = 0
        for index in met {
            guard case .junction(_, let arm, _) = parts[index].stand else { continue }
            let pick = junction.arms[arm].pick
            try join(parts[index].text, pick, to: &doc, after: taken)
            if junction.divides { taken += pick.map { $0.pointer } }
            there |= 1 << UInt64(arm)
        }
        for arm in junction.arms { arm.fill?.fill(&doc, at: doc.splice.root, without: there) }
        return junction.joined
    }

    /// Removes the element at a distance from the first one by moving the elements on the shorter side.
    private mutating func remove(_ distance: Int) {
        let index = head + distance
        if distance > (parts.count - head) / 2 {
            parts.remove(at: index)
        } else {
            for place in stride(from: index, to: head, by: -1) { parts.swapAt(place, place - 1) }
            head += 1
        }
    }

    /// Adds a part's picked members, with the objects around them, to the event unless the event has them already.
    /// - Parameter taken: the members that earlier parts took, where parts divide an object. An object of which they took only members is
    ///   replaced as a whole.
    private mutating func join(
        _ text: Range<Int>, _ pick: [MemberLocation], to doc: inout EventDocument, after taken: [JSONPointer]
    ) throws(JSONError) {
        try side.splice.load(texts, text)
        let (source, root) = (side.splice.root, doc.splice.root)
        for place in pick {
            let node = place.find(in: &side, at: source)
            let isDivided =
                taken.contains { $0 != place.pointer && $0.hasPrefix(place.pointer) } && !taken.contains { place.pointer.hasPrefix($0) }
            guard isDivided || place.find(in: &doc, at: root) == nil,
                let holder = place.holder(in: &doc, at: root, forValue: node != nil), let node
            else { continue }
            let start = texts.count
            side.splice.write(node, into: &texts)
            doc.splice.set(place.name, of: holder, to: texts.slice(start, texts.count - start))
            texts.truncate(to: start)
        }
    }

    private static let empty = Array("{}".utf8)
}
