/// The location that an error is about: a file, an event or a payload member. Unknown parts are nil.
public struct ErrorLocation: Hashable, Sendable {
    public var file: String?
    public var line: Int?
    public var column: Int?
    public var pointer: String?
    public var position: Position?
    public var stream: String?
    public var type: String?

    public init(
        file: String? = nil, line: Int? = nil, column: Int? = nil, pointer: String? = nil, position: Position? = nil,
        stream: String? = nil, type: String? = nil
    ) {
        (self.file, self.line, self.column, self.pointer) = (file, line, column, pointer)
        (self.position, self.stream, self.type) = (position, stream, type)
    }
}

/// An error for people and scripts: a stable code, a sentence that says what is wrong, and one that says what to do.
public struct ErrorDetails: Hashable, Sendable {
    public var code: String
    public var message: String
    package var advice: Advice?
    public var place: ErrorLocation

    /// What to do next, as one sentence.
    public var fix: String? {
        get { advice?.description }
        set { advice = newValue.map { Advice(stringLiteral: $0) } }
    }
}

extension ErrorDetails {
    package init(_ code: String, _ message: String, fix: String? = nil, place: ErrorLocation = .init()) {
        (self.code, self.message, self.place) = (code, message, place)
        self.fix = fix
    }

    package init(_ code: String, _ message: String, advice: Advice?, place: ErrorLocation = .init()) {
        (self.code, self.message, self.advice, self.place) = (code, message, advice, place)
    }

    /// A copy that also names the input line at fault, and the element of a document that begins there.
    func on(line: UInt64, of file: String?, element: UInt64? = nil) -> ErrorDetails {
        var copy = self
        copy.message = "\(file.map { $0 + ":" } ?? "line ")\(line): \(element.map { "element \($0): " } ?? "")\(message)"
        copy.place.line = Int(clamping: line)
        copy.place.file = file
        return copy
    }
}
