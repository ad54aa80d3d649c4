/// A change of a payload that no op can express: the code behind a `swift` op of a version file.
///
/// It must be a pure function: equal members give equal results, regardless of the time, the machine and the order of events. It receives
/// the members that the op declares to read, and may change those that the op declares to write. If it throws, the event has no image; a
/// `StepFailure` says where and why.
public protocol SwiftStep: Sendable {
    /// The id in the version file.
    var id: String { get }
    /// The revision in the version file. Until the version is released, raise it whenever the code's results change.
    var revision: Int { get }

    /// Converts the members of the older version to those of the newer one.
    func up(_ members: inout StepMembers) throws
}

/// A step that can also convert back to the older version.
public protocol ReversibleSwiftStep: SwiftStep {
    /// Converts the members of the newer version to those of the older one: the inverse of `up`, as far as the declared class promises.
    func down(_ members: inout StepMembers) throws
}

/// Why a step can't convert an event.
public struct StepFailure: Error, Hashable, Sendable, CustomStringConvertible {
    /// An RFC 6901 pointer from the payload's root.
    public var pointer: String
    public var expected: String
    public var found: String

    public init(at pointer: String = "", expected: String, found: String) {
        (self.pointer, self.expected, self.found) = (pointer, expected, found)
    }

    public var description: String { "\(pointer.isEmpty ? "the payload" : pointer) should be \(expected), found \(found)" }
}
