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
        self.init(code, message, advice: fix.map { Advice(stringLiteral: $0) }, place: place)
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

/// One problem that a check found, with its location and how to fix it.
public struct Finding: Hashable, Sendable {
    public enum Severity: String, Hashable, Sendable { case error, warning, note }

    /// A rule's id, such as `COMPAT101`.
    public var id: String
    public var severity: Severity
    public var file: String?
    public var line: Int?
    public var column: Int?
    public var position: Position?
    public var message: String
    package var advice: Advice?
    /// The fix as edits of files; empty if it requires a decision that no program can make.
    public var edits: [FileEdit] = []
    /// The event type that the message begins with, if the same message may apply to other types.
    package var subject: String?
    /// The changes from which `edits` are made once the texts of the files are available.
    package var repairs: [Repair] = []

    /// A placeholder for a reason that only the author can give.
    package static let reasonMissing = "say why"

    /// Whether the repair needs no decision by the author.
    package var isCertain: Bool { repairs.allSatisfy(\.isCertain) }

    public init(
        id: String, severity: Severity = .error, file: String? = nil, line: Int? = nil, column: Int? = nil,
        position: Position? = nil, message: String, fix: String? = nil
    ) {
        (self.id, self.severity, self.file, self.line) = (id, severity, file, line)
        (self.column, self.position, self.message) = (column, position, message)
        self.fix = fix
    }

    package init(
        id: String, severity: Severity = .error, file: String? = nil, line: Int? = nil, column: Int? = nil,
        position: Position? = nil, message: String, advice: Advice?
    ) {
        self.init(id: id, severity: severity, file: file, line: line, column: column, position: position, message: message)
        self.advice = advice
    }

    /// How to fix it, as one sentence.
    public var fix: String? {
        get { advice?.description }
        set { advice = newValue.map { Advice(stringLiteral: $0) } }
    }
}

extension [Finding] {
    /// The id of the rule for files whose format is newer than this program.
    package static let newerFormat = "FILE007"

    /// Whether a finding says that a file has a format which this program does not know yet.
    package var hasNewerFormat: Bool { contains { $0.id == Self.newerFormat } }
}

/// A change of consecutive lines of a file.
public struct FileEdit: Hashable, Sendable {
    public var file: String
    /// The first line that is removed, counted from 1; if none is removed, the line before which the new ones are inserted. All edits of a
    /// finding refer to the unchanged file.
    public var line: Int
    public var remove: [String]
    /// The inserted lines; the first lines of a file that does not exist yet.
    public var insert: [String]
    /// The new name of the file; nil if the name does not change.
    public var renamed: String?

    public init(file: String, line: Int, remove: [String] = [], insert: [String] = [], renamed: String? = nil) {
        (self.file, self.line, self.remove, self.insert, self.renamed) = (file, line, remove, insert, renamed)
    }
}

/// A change of a file that fixes a finding, in terms of the file's values instead of its lines.
package struct Repair: Hashable, Sendable {
    package enum Change: Hashable, Sendable {
        /// Sets the value to this JSON. An absent member is added, in front of the member named by `before` if that exists.
        case set(String, before: String? = nil)
        /// Replaces the scalar at the location, a name or a value.
        case rename(String)
        /// Replaces the first scalar within the value that equals the first text by this JSON.
        case swap(String, String)
        /// Appends this JSON to a list.
        case append(String)
        /// Removes the value together with its member name or its list item.
        case remove
        /// Replaces `count` characters by a text, in a file that can't be parsed yet.
        case text(count: Int, String)
        /// Removes the line.
        case cut
        /// Appends lines to a file, which need not exist yet.
        case lines([String])
        case move(String)
    }

    package var file: String
    /// 0 means the whole file.
    package var line: Int
    package var column: Int
    /// The path from the value at that location: member names, item numbers, `*` for the only member, `..` for the parent.
    package var path: [String]
    package var change: Change
    /// Whether this is the only possible meaning: the repair corrects the spelling of a keyword or the notation of a value, and removes
    /// nothing. Any other repair is a proposal, which the author accepts or rejects.
    package var isCertain = false

    package init(file: String, line: Int = 0, column: Int = 0, path: [String] = [], _ change: Change) {
        (self.file, self.line, self.column, self.path, self.change) = (file, line, column, path, change)
    }

    package var certain: Repair {
        var repair = self
        repair.isCertain = true
        return repair
    }

    package func certain(where isMeant: Bool) -> Repair { isMeant ? certain : self }
}
