package import Bytes
package import JSONText

/// The buffers in which tags are made. Used by one thread.
package struct TagWorkspace: ~Copyable {
    fileprivate var picks = UniqueArray<ByteSlice>()
    fileprivate var tag = TagText()

    package init() {}
}

/// Makes the tags of images of one type, compiled from its `TagTemplate`s.
package final class TagReader: Sendable {
    fileprivate enum Piece: Sendable {
        case literal([UInt8])
        case stream
        case member(Int)
        /// A member of the element.
        case item(Int)
    }

    private struct Tag: Sendable {
        /// The index of the list among the members that are read.
        let each: Int?
        let item: PointerPicker
        let pieces: [Piece]
    }

    /// The members of the payload that are read, without duplicates.
    package let pointers: [JSONPointer]
    package let readsStream: Bool
    private let picker: PointerPicker
    private let tags: [Tag]

    package init(_ templates: [TagTemplate]) {
        var pointers: [JSONPointer] = []
        func index(_ pointer: JSONPointer) -> Int {
            if let known = pointers.firstIndex(of: pointer) { return known }
            pointers.append(pointer)
            return pointers.count - 1
        }
        tags = templates.map { template in
            var items: [JSONPointer] = []
            let each = template.each.map(index)
            let pieces = template.template.parts.map { part -> Piece in
                switch part {
                case .literal(let text): return .literal(Array(text.utf8))
                case .member(.pointer(let pointer)): return .member(index(pointer))
                case .member(.item(let pointer)):
                    if !items.contains(pointer) { items.append(pointer) }
                    return .item(items.firstIndex(of: pointer) ?? 0)
                case .member: return .stream
                }
            }
            return Tag(each: each, item: PointerPicker(items), pieces: pieces)
        }
        self.pointers = pointers
        picker = PointerPicker(pointers)
        readsStream = templates.contains { $0.template.members.contains(where: \.readsStream) }
    }

    /// Lends each tag of a whole payload, in the order of the file; one may come twice.
    package func forEachTag<Failure>(
        of payload: RawSpan, in stream: String, _ workspace: inout TagWorkspace, _ body: (RawSpan) throws(Failure) -> Void
    ) throws(Failure) {
        picker.pick(payload, into: &workspace.picks)
        try forEachTag(of: payload, picked: workspace.picks, in: stream, &workspace.tag, body)
    }

    /// Lends each tag of an event of which only the members at `pointers` are known.
    /// - Parameter places: the range of each in `values`.
    package func forEachTag<Failure>(
        of values: RawSpan, at places: Span<ByteSlice>, in stream: String, _ workspace: inout TagWorkspace,
        _ body: (RawSpan) throws(Failure) -> Void
    ) throws(Failure) {
        try forEachTag(TagSource(values: values, places: places, stream: stream), &workspace.tag, body)
    }

    private func forEachTag<Failure>(
        of payload: RawSpan, picked: borrowing UniqueArray<ByteSlice>, in stream: String, _ text: inout TagText,
        _ body: (RawSpan) throws(Failure) -> Void
    ) throws(Failure) {
        try forEachTag(TagSource(values: payload, places: picked.span, stream: stream), &text, body)
    }

    private func forEachTag<Failure>(
        _ source: borrowing TagSource, _ text: inout TagText, _ body: (RawSpan) throws(Failure) -> Void
    ) throws(Failure) {
        for tag in tags {
            guard let each = tag.each else {
                if text.write(tag.pieces, source, item: source.values) { try body(text.bytes.bytes) }
                continue
            }
            // A list that is null has no elements.
            guard let list = source.member(each), findElements(of: list, into: &text.elements) else { continue }
            for index in text.elements.indices {
                let item = list.slice(text.elements[index].start, text.elements[index].size)
                tag.item.pick(item, into: &text.itemPicks)
                if text.write(tag.pieces, source, item: item) { try body(text.bytes.bytes) }
            }
        }
    }
}

/// What an event's tags are made of.
private struct TagSource: ~Escapable {
    let values: RawSpan
    /// The range of each member in `values`.
    let places: Span<ByteSlice>
    let stream: String

    @_lifetime(copy values, copy places)
    init(values: RawSpan, places: Span<ByteSlice>, stream: String) {
        (self.values, self.places, self.stream) = (values, places, stream)
    }

    @_lifetime(copy self)
    func member(_ index: Int) -> RawSpan? {
        let place = places[index]
        return place.isPresent ? values.slice(place.start, place.size) : nil
    }
}

/// A tag that is being made.
private struct TagText: ~Copyable {
    var bytes = ByteBuffer(capacity: 128)
    var elements: [ByteSlice] = []
    var itemPicks = UniqueArray<ByteSlice>()

    /// Replaces the text by a tag. Returns false where a member has no text, or nothing is left of the tag.
    mutating func write(_ pieces: [TagReader.Piece], _ source: borrowing TagSource, item: RawSpan) -> Bool {
        bytes.removeAll()
        for piece in pieces {
            switch piece {
            case .literal(let literal): bytes.append(literal)
            case .stream: bytes.append(source.stream)
            case .member(let index):
                guard let value = source.member(index), append(value) else { return false }
            case .item(let index):
                let place = itemPicks[index]
                guard place.isPresent, append(item.slice(place.start, place.size)) else { return false }
            }
        }
        return bytes.count > 0
    }

    private mutating func append(_ value: RawSpan) -> Bool { value.byteCount > 0 && appendText(of: value, into: &bytes) == .text }
}
