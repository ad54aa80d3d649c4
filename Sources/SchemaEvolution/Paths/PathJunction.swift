internal import Bytes
internal import EventModel
internal import JSONText

/// Where the parts of one event meet again on the way down.
final class PathJunction: Sendable {
    struct Arm: Sendable {
        let pick: [Place]
        /// What the part gives its event in the place of what others would have brought.
        let fill: BoundFill?
        /// For a part that comes alone.
        let lone: PathSegment
    }

    /// Junctions are passed in the order of the crossings.
    let order: Int
    let step: SchemaVersion
    let arms: [Arm]
    /// Members whose values parts that meet have in common; empty where all that come are parts of one event.
    let on: [JSONPointer]
    /// For the event that several parts are joined to.
    let joined: PathSegment

    init(order: Int, step: SchemaVersion, arms: [Arm], on: [JSONPointer], joined: PathSegment) {
        (self.order, self.step, self.arms, self.on, self.joined) = (order, step, arms, on, joined)
    }
}

/// What parts that a step made of one event have in common, within that step: they meet one another before they meet others.
struct PartOrigin: Equatable {
    let step: SchemaVersion
    let number: Int
}

/// Where a part comes from.
struct PartSource {
    /// The index of its event in the group.
    let event: Int
    /// Nil for one that is a part of no event within its step.
    let origin: PartOrigin?
}

/// The parts of one event of a version, which are taken on together.
final class PathGroup: Sendable {
    /// Names the group in messages.
    let path: Path
    let roots: [PathSegment]

    init(path: Path, roots: [PathSegment]) { (self.path, self.roots) = (path, roots) }
}

/// Parts that met at a junction, and where what they are goes on.
struct PathMeeting {
    let segment: PathSegment
    /// The events of the group that they are of, in their order.
    let sources: [Int]
    /// Whether there is one for each arm.
    let isWhole: Bool
    /// What all of them have in common.
    let origin: PartOrigin?

    /// The one that the whole stands for.
    var source: Int { sources.last ?? 0 }
}

/// An event of a group, as text.
package struct GroupPart: Hashable, Sendable {
    package var type: String
    package var payload: [UInt8]

    package init(type: String, payload: [UInt8]) { (self.type, self.payload) = (type, payload) }
}

/// The parts of one event in their order: those that wait at junctions until all others have come or ended, and images that come
/// after one that waits.
struct PathWaiting: ~Copyable {
    private enum Stand {
        case junction(PathJunction, arm: Int, key: [UInt8])
        case image(PathEnd)
    }

    private struct Part {
        var stand: Stand
        var text: Range<Int>
        /// The event of the group that it comes from.
        var source: Int
        /// Where the step of its junction made it.
        var origin: PartOrigin?
    }

    /// A slice, so that it costs little to take out the first ones.
    private var parts: ArraySlice<Part> = []
    /// How many wait at junctions of an order, and how many of them have an origin.
    private var waiting: [(order: Int, parts: Int, related: Int)] = []
    /// Where the next part stands: behind what the same part has become so far.
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
        _ doc: inout Splice, _ object: Splice.Node, _ junction: PathJunction, _ arm: Int, of source: PartSource
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

    /// The text of the members that parts have in common.
    private mutating func key(_ doc: inout Splice, _ object: Splice.Node, _ junction: PathJunction) -> [UInt8] {
        if junction.on.isEmpty { return [] }
        let start = texts.count
        for pointer in junction.on {
            if let node = doc.find(pointer, from: object) { doc.content(of: node, into: &texts) }
            texts.append(0)
        }
        defer { texts.truncate(to: start) }
        return [UInt8](copying: texts.slice(start, texts.count - start))
    }

    /// Takes out the first part where it is an image, writes its payload, and returns the rest of it.
    mutating func nextImage(into output: inout ByteBuffer) -> (end: PathEnd, source: Int)? {
        guard let first = parts.first, case .image(let end) = first.stand else { return nil }
        parts.removeFirst()
        cursor = max(0, cursor - 1)
        output.removeAll()
        output.append(texts.slice(first.text.lowerBound, first.text.count))
        return (end, first.source)
    }

    private typealias Waiting = (arm: Int, key: [UInt8], index: Int)

    /// The parts that meet at the junction of an order next: those that its step made of one event, else the first of each type.
    private func meeting(_ order: Int, related: Bool) -> (junction: PathJunction, parts: [Waiting])? {
        var next: PathJunction?
        var (met, kin): ([Waiting], [Int: [Waiting]]) = ([], [:])
        for index in 0 ..< parts.count {
            guard case .junction(let junction, let arm, let key) = parts[parts.startIndex + index].stand,
                junction === next ?? junction, junction.order == order
            else { continue }
            next = junction
            // Of each type there is one.
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

    /// Takes out what meets at the next junction, and loads it as one event; nil where nothing waits.
    ///
    /// It stands where the first of the parts of the last event among them stood.
    mutating func next(_ doc: inout EventDocument) throws(JSONError) -> PathMeeting? {
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
            return PathMeeting(segment: next.arms[met[0].arm].lone, sources: sources, isWhole: next.arms.count == 1, origin: origin)
        }
        try doc.splice.load(Self.empty.lent)
        var taken: [JSONPointer] = []
        for (one, part) in zip(met, found) {
            try join(part.text, next.arms[one.arm].pick, to: &doc, after: taken)
            taken += next.arms[one.arm].pick.map(\.pointer)
        }
        let there: UInt64 = met.reduce(0) { $0 | 1 << $1.arm }
        for arm in next.arms { arm.fill?.fill(&doc, at: doc.splice.root, without: there) }
        return PathMeeting(segment: next.joined, sources: sources, isWhole: met.count == next.arms.count, origin: origin)
    }

    /// Takes one out by moving those on the side that has fewer.
    private mutating func remove(_ offset: Int) {
        let index = parts.startIndex + offset
        if offset > parts.count / 2 {
            parts.remove(at: index)
        } else {
            for place in stride(from: index, to: parts.startIndex, by: -1) { parts.swapAt(place, place - 1) }
            parts.removeFirst()
        }
    }

    /// Puts what a part takes into the event that it is a part of, where that is not there yet, with the objects around it.
    /// - Parameter taken: what the parts before it took. Of an object of which they took members, the whole takes the place.
    private mutating func join(
        _ text: Range<Int>, _ pick: [Place], to doc: inout EventDocument, after taken: [JSONPointer]
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
