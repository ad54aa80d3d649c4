internal import Bytes
internal import EventModel
internal import JSONText

/// Where the parts of one event meet again on the way down.
final class PathJunction: Sendable {
    struct Arm: Sendable {
        let pick: [Place]
        /// For a part that comes alone.
        let lone: PathSegment
    }

    /// Junctions are passed in the order of the crossings.
    let order: Int
    let arms: [Arm]
    /// Members whose values parts that meet have in common; empty where all that come are parts of one event.
    let on: [JSONPointer]
    /// For the event that several parts are joined to.
    let joined: PathSegment

    init(order: Int, arms: [Arm], on: [JSONPointer], joined: PathSegment) {
        (self.order, self.arms, self.on, self.joined) = (order, arms, on, joined)
    }
}

/// The parts of one event of a version, which are taken on together.
final class PathGroup: Sendable {
    /// Names the group in messages.
    let path: Path
    let roots: [PathSegment]

    init(path: Path, roots: [PathSegment]) { (self.path, self.roots) = (path, roots) }
}

/// An event of a group, as text.
package struct GroupPart: Hashable, Sendable {
    package var type: String
    package var payload: [UInt8]

    package init(type: String, payload: [UInt8]) { (self.type, self.payload) = (type, payload) }
}

/// Parts that wait at junctions until all others have come or ended.
struct PathWaiting: ~Copyable {
    private struct Part {
        var junction: PathJunction
        var arm: Int
        var text: Range<Int>
        /// The event of the group that it comes from.
        var source: Int
        var key: [UInt8]
    }

    private var parts: [Part] = []
    private var texts = ByteBuffer()
    private var side = Splice()

    init() {}

    mutating func removeAll() {
        guard !parts.isEmpty || texts.count > 0 else { return }
        parts.removeAll(keepingCapacity: true)
        texts.removeAll()
    }

    mutating func add(_ doc: inout Splice, _ object: Splice.Node, _ junction: PathJunction, _ arm: Int, from source: Int) {
        let key = key(&doc, object, junction)
        let start = texts.count
        doc.write(object, into: &texts)
        parts.append(Part(junction: junction, arm: arm, text: start ..< texts.count, source: source, key: key))
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

    /// Takes out what meets at the next junction, loads it as one event, and returns where that goes on, and for the last of
    /// which events; nil where nothing waits.
    mutating func next(_ doc: inout Splice) throws(JSONError) -> (segment: PathSegment, source: Int)? {
        guard let junction = parts.min(by: { $0.junction.order < $1.junction.order })?.junction else { return nil }
        var (met, rest): ([Part], [Part]) = ([], [])
        for part in parts {
            if part.junction === junction, met.isEmpty || junction.on.isEmpty || Self.joins(part, met) {
                met.append(part)
            } else {
                rest.append(part)
            }
        }
        parts = rest
        let source = met.reduce(0) { max($0, $1.source) }
        if met.count == 1 {
            try doc.load(texts, met[0].text)
            return (junction.arms[met[0].arm].lone, source)
        }
        try doc.load(Self.empty.lent)
        for part in met {
            try side.load(texts, part.text)
            let (source, root) = (side.root, doc.root)
            for place in junction.arms[part.arm].pick {
                guard let node = place.find(in: &side, at: source), place.find(in: &doc, at: root) == nil,
                    let holder = place.holder(in: &doc, at: root, forValue: true)
                else { continue }
                let start = texts.count
                Self.write(node, of: side, into: &texts)
                doc.set(place.name, of: holder, to: texts.slice(start, texts.count - start))
                texts.truncate(to: start)
            }
        }
        return (junction.joined, source)
    }

    /// Of each type there is one.
    private static func joins(_ part: Part, _ met: [Part]) -> Bool {
        part.key == met[0].key && !met.contains { $0.arm == part.arm }
    }

    private static func write(_ node: Splice.Node, of side: borrowing Splice, into texts: inout ByteBuffer) {
        side.write(node, into: &texts)
    }

    private static let empty = Array("{}".utf8)
}
