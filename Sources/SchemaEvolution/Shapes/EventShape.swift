internal import Bytes
package import JSONText

/// Why a payload or a constant does not fit a shape.
package struct ShapeError: Error, Hashable, Sendable, CustomStringConvertible {
    /// An RFC 6901 pointer; empty for the whole payload.
    package var pointer: String
    package var expected: String
    /// A short description of the actual value.
    package var found: String

    package init(pointer: String, expected: String, found: String) {
        (self.pointer, self.expected, self.found) = (pointer, expected, found)
    }

    /// `should be …, found …`, to be appended to the pointer.
    package var reason: String { "should be \(expected), found \(found)" }

    package var description: String { "\(pointer.isEmpty ? "the payload" : pointer) \(reason)" }
}

/// The declaration of an event type at one version: the payload's shape, the stream template, and the tags.
package struct EventShape: Hashable, Sendable {
    package let stream: StreamTemplate?
    package let shape: Shape
    package let tags: [TagTemplate]
    /// The location of the declaration in the version file.
    package let mark: FileLocation
    private let program: ShapeProgram

    package init(
        shape: Shape, stream: StreamTemplate? = nil, tags: [TagTemplate] = [],
        mark: FileLocation = FileLocation(file: "", line: 1, column: 1)
    ) {
        (self.shape, self.stream, self.tags, self.mark) = (shape, stream, tags, mark)
        program = ShapeProgram(shape)
    }

    /// A faster validator for plain payloads; nil for shapes that it does not support. Make one for each thread: reference counting of
    /// shared objects would cost as much as the validation itself.
    package func plain() -> PlainPayloadValidator? { PlainPayloadValidator(program) }

    /// Validates a payload that is known to be valid JSON.
    package func validate(_ payload: RawSpan) throws(ShapeError) { try program.check(payload) }

    /// Validates a payload that is known to be valid JSON, and returns the stream that the template names; nil if there is none.
    package func validatedStream(of payload: RawSpan) throws(ShapeError) -> String? {
        try validate(payload)
        return try stream?.name(for: payload)
    }

    package static func == (a: EventShape, b: EventShape) -> Bool {
        a.stream == b.stream && a.tags == b.tags && a.shape == b.shape
    }

    package func hash(into hasher: inout Hasher) {
        hasher.combine(stream)
        hasher.combine(tags)
        hasher.combine(shape)
    }
}

extension Shape {
    /// Why a constant does not fit; nil if it fits.
    package func rejection(of constant: JSONValue) -> ShapeError? {
        do {
            try ShapeProgram(self).check(Array(constant.text.utf8).lent)
            return nil
        } catch { return error }
    }

    /// Pointers to the members, at any depth outside arrays and maps, whose shapes satisfy a condition.
    package func pointers(where isChosen: (Shape) -> Bool) -> [JSONPointer] {
        var found: [JSONPointer] = []
        func visit(_ shape: Shape, at pointer: JSONPointer) {
            for property in shape.properties {
                let place = pointer.appending(MemberName(property.name))
                if isChosen(property.shape) { found.append(place) }
                visit(property.shape, at: place)
            }
        }
        visit(self, at: JSONPointer(tokens: []))
        return found
    }
}
