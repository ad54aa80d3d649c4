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

    init(order: Int, step: SchemaVersion, arms: [Arm], on: [JSONPointer], joined: PathSegment) {
        (self.order, self.step, self.arms, self.on, self.joined) = (order, step, arms, on, joined)
    }
}

/// Identifies the event from which a step made a part. Within that step, parts of equal origin are joined before they are joined with
/// others.
struct PartOrigin: Equatable {
    let step: SchemaVersion
    let number: Int
}

/// The origin of a part.
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
/// waiting part.
struct JunctionQueue: ~Copyable {
    private enum Stand {
        case junction(PathJunction, arm: Int, key: [UInt8])
        case image(PathEnd)
    }

    private struct Part {
        var stand: Stand
        var text: Range<Int>
        /// The index of its event in the group.
        var source: Int
        /// Its origin, if the step of its junction made it.
        var origin: PartOrigin?
    }

    /// A slice, so that removing the first elements is cheap.
    private var parts: ArraySlice<Part> = []
    /// For each order of junctions, how many parts wait, and how many of these have an origin.
    private var waiting: [(order: Int, parts: Int, related: Int)] = []
    /// The index of the next part: behind everything that the current part has become so far.
    private var cursor = 0
    private var texts = ByteBuffer()
    private var side = EventDocument()

    init() {}

    var isEmpty: Bool { parts.isEmpty }

    mutating func removeAll() {
        guard !parts.isEmpty || texts.count > 0 else { return }
        parts = []
        waiting.removeAll(keepingCapacity: true)
        cursor = 0
        texts.removeAll()
    }

    mutating func add(
        _ doc: inout JSONEditor, _ object: JSONEditor.Node, _ junction: PathJunction, _ arm: Int, of source: PartSource
    ) {
        let key = key(&doc, object, junction)
        let start = texts.count
        doc.write(object, into: &texts)
        let within = source.origin.flatMap { $0.step == junction.step ? $0 : nil }
        count(1, related: within == nil ? 0 : 1, at: junction.order)
        add(Part(stand: .junction(junction, arm: arm, key: key), text: start ..< texts.count, source: source.event, origin: within))
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
        parts.insert(part, at: parts.startIndex + cursor)
        cursor += 1
    }

    /// The members that the parts share, in canonical form: however values are spelled, equal ones have one key.
    private mutating func key(_ doc: inout JSONEditor, _ object: JSONEditor.Node, _ junction: PathJunction) -> [UInt8] {
        if junction.on.isEmpty { return [] }
        let start = texts.count
        var value = ByteBuffer()
        for pointer in junction.on {
            if let node = doc.find(pointer, from: object) {
                value.removeAll()
                doc.write(node, into: &value)
                // A number beyond what can be canonical is compared as it is spelled.
                do throws(JSONError) { try Canonical.write(value.bytes, into: &texts) } catch { texts.append(value.bytes) }
            }
            texts.append(0)
        }
        defer { texts.truncate(to: start) }
        return [UInt8](copying: texts.slice(start, texts.count - start))
    }

    /// Removes the first element if it is an image, writes its payload, and returns its end and the index of its event.
    mutating func nextImage(into output: inout ByteBuffer) -> (end: PathEnd, source: Int)? {
        guard let first = parts.first, case .image(let end) = first.stand else { return nil }
        parts.removeFirst()
        cursor = max(0, cursor - 1)
        output.removeAll()
        output.append(texts.slice(first.text.lowerBound, first.text.count))
        return (end, first.source)
    }

    private typealias Waiting = (arm: Int, key: [UInt8], index: Int)

    /// The parts that are joined next at the junction of an order: those that its step made of one event, or else the first of each type.
    private func meeting(_ order: Int, related: Bool) -> (junction: PathJunction, parts: [Waiting])? {
        var next: PathJunction?
        var (met, kin): ([Waiting], [Int: [Waiting]]) = ([], [:])
        for index in 0 ..< parts.count {
            guard case .junction(let junction, let arm, let key) = parts[parts.startIndex + index].stand,
                junction === next ?? junction, junction.order == order
            else { continue }
            next = junction
            // At most one part of each type takes part.
            func joins(_ others: [Waiting]) -> Bool { others.isEmpty || key == others[0].key && !others.contains { $0.arm == arm } }
            if joins(met) { met.append((arm, key, index)) }
            if related, let origin = parts[parts.startIndex + index].origin?.number, joins(kin[origin, default: []]) {
                kin[origin, default: []].append((arm, key, index))
            }
            if met.count == junction.arms.count, !related { break }
        }
        let own = kin.values.filter { $0.count > 1 }.min { $0[0].index < $1[0].index }
        return next.map { ($0, own ?? met) }
    }

    /// Removes the parts that are joined at the next junction and loads them as one event; nil if nothing waits.
    ///
    /// The event takes the position of the first of the parts that belong to the last of their events.
    mutating func next(_ doc: inout EventDocument) throws(JSONError) -> JunctionMatch? {
        guard let first = waiting.min(by: { $0.order < $1.order }), let (next, met) = meeting(first.order, related: first.related > 0)
        else { return nil }
        let found = met.map { parts[parts.startIndex + $0.index] }
        let (sources, origins) = (found.map(\.source).sorted(), found.map(\.origin))
        let origin = origins.allSatisfy { $0 == origins[0] } ? origins[0] : nil
        count(-found.count, related: -origins.count { $0 != nil }, at: first.order)
        cursor = found.firstIndex { $0.source == sources.last }.map { met[$0].index } ?? 0
        cursor -= met.count { $0.index < cursor }
        for one in met.reversed() { remove(one.index) }
        if met.count == 1 {
            try doc.splice.load(self.texts, found[0].text)
            return JunctionMatch(segment: next.arms[met[0].arm].lone, sources: sources, isWhole: next.arms.count == 1, origin: origin)
        }
        try doc.splice.load(Self.empty.lent)
        var taken: [JSONPointer] = []
        for (one, part) in zip(met, found) {
            try join(part.text, next.arms[one.arm].pick, to: &doc, after: taken)
            taken += next.arms[one.arm].pick.map(\.pointer)
        }
        let there: UInt64 = met.reduce(0) { $0 | 1 << $1.arm }
        for arm in next.arms { arm.fill?.fill(&doc, at: doc.splice.root, without: there) }
        return JunctionMatch(segment: next.joined, sources: sources, isWhole: met.count == next.arms.count, origin: origin)
    }

    /// Removes an element by moving the elements on the shorter side.
    private mutating func remove(_ offset: Int) {
        let index = parts.startIndex + offset
        if offset > parts.count / 2 {
            parts.remove(at: index)
        } else {
            for place in stride(from: index, to: parts.startIndex, by: -1) { parts.swapAt(place, place - 1) }
            parts.removeFirst()
        }
    }

    /// Adds a part's picked members, with the objects around them, to the event unless the event has them already.
    /// - Parameter taken: the members that earlier parts took. An object of which they took only members is replaced as a whole.
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
