/// One thing that a check found, with where it stands and how to mend it.
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
    /// The fix as lines of files; empty where it takes a decision that no program can make.
    public var edits: [FileEdit] = []
    /// The event type that the message begins with, where the same may be said of others.
    package var subject: String?
    /// What the edits are made of once the files' texts are at hand.
    package var repairs: [Repair] = []

    /// The placeholder where only the author can say why something is lost.
    package static let reasonMissing = "say why"

    /// Whether its repair needs no decision of the author.
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

    /// What mends it, as one sentence.
    public var fix: String? {
        get { advice?.description }
        set { advice = newValue.map { Advice(stringLiteral: $0) } }
    }
}

extension [Finding] {
    /// The rule of a file whose format is newer than this program.
    package static let newerFormat = "FILE007"

    /// Whether one says that a file is of a format that this program does not know yet.
    package var hasNewerFormat: Bool { contains { $0.id == Self.newerFormat } }
}

/// A change of neighbouring lines of a file.
public struct FileEdit: Hashable, Sendable {
    public var file: String
    /// The first line that is taken out, from 1; where none is, the line that the new ones come before. All edits of a finding
    /// count in the file as it was.
    public var line: Int
    public var remove: [String]
    /// A file that is not there yet begins with these.
    public var insert: [String]
    /// The new name of the file; nil where it keeps its own.
    public var renamed: String?

    public init(file: String, line: Int, remove: [String] = [], insert: [String] = [], renamed: String? = nil) {
        (self.file, self.line, self.remove, self.insert, self.renamed) = (file, line, remove, insert, renamed)
    }
}

/// How a file is changed to mend a finding, in terms of its values rather than of its lines.
package struct Repair: Hashable, Sendable {
    package enum Change: Hashable, Sendable {
        /// The value becomes this JSON; a member that is not there is made, before one of another name if that is there.
        case set(String, before: String? = nil)
        /// The scalar that stands here, a name or a value, becomes another.
        case rename(String)
        /// The first scalar in here that is this text becomes this JSON.
        case swap(String, String)
        /// A list has this JSON as one more item.
        case append(String)
        /// The value is removed, with its member's name or its place in the list.
        case remove
        /// So many characters become a text, in a file that can't be read yet.
        case text(count: Int, String)
        /// The line is removed.
        case cut
        /// Lines at the end of a file, which may not be there yet.
        case lines([String])
        /// The file is renamed.
        case move(String)
    }

    package var file: String
    /// 0 means the file as a whole.
    package var line: Int
    package var column: Int
    /// From the value at that place on: names of members, numbers of items, `*` for the only member, `..` for what it is in.
    package var path: [String]
    package var change: Change
    /// Whether only it can be meant: it puts right how a word of the format is spelled, or how a value is written, and takes nothing
    /// away. What it does not hold of is a proposal, for its author to choose.
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
