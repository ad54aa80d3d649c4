internal import Bytes
package import JSONText

/// Why a payload, or a constant, does not fit a shape.
package struct ShapeError: Error, Hashable, Sendable {
    /// RFC 6901; empty for the whole payload.
    package var pointer: String
    package var expected: String
    /// The value that was found, shortened.
    package var found: String

    package init(pointer: String, expected: String, found: String) {
        (self.pointer, self.expected, self.found) = (pointer, expected, found)
    }

    /// `should be …, found …`, to be read after the pointer.
    package var reason: String { "should be \(expected), found \(found)" }
}

/// The declaration of an event type at one version: the payload's shape, and the stream template.
package struct EventShape: Hashable, Sendable {
    package let stream: StreamTemplate?
    package let shape: Shape
    /// Where the version file declares it.
    package let mark: Mark
    private let program: ShapeProgram

    package init(shape: Shape, stream: StreamTemplate? = nil, mark: Mark = Mark(file: "", line: 1, column: 1)) {
        (self.shape, self.stream, self.mark) = (shape, stream, mark)
        program = ShapeProgram(shape)
    }

    /// A faster validator that knows plain payloads; nil for shapes that it does not support. Make one for each thread: reference
    /// counts that threads share cost as much as the validation.
    package func plain() -> PlainShape? { PlainShape(program, stream) }

    /// Checks a payload that is valid JSON.
    package func validate(_ payload: RawSpan) throws(ShapeError) { try program.check(payload) }

    /// The shape and the stream, whatever the order of the file.
    var content: Content { Content(stream: stream?.description, shape: shape.ordered) }

    struct Content: Equatable {
        let stream: String?
        let shape: Shape
    }

    package static func == (a: EventShape, b: EventShape) -> Bool { a.stream == b.stream && a.shape == b.shape }

    package func hash(into hasher: inout Hasher) {
        hasher.combine(stream)
        hasher.combine(shape)
    }
}

extension Shape {
    /// Why a constant does not fit; nil where it does.
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
