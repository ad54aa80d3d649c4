/// A change to a payload that no op can express: the code behind a `swift` op of a version file.
///
/// It must be a pure function: the same members give the same result, whatever the time, the machine and the order of events. It gets
/// the members that the op declares to read, and may change those that the op declares to write. If it throws, the event has no image;
/// a `StepFailure` says where and why.
public protocol SwiftStep: Sendable {
    /// The id in the version file.
    var id: String { get }
    /// The revision in the version file; raise it with every change of the code's results, until the version is released.
    var revision: Int { get }

    /// Makes the members of the newer version of those of the older one.
    func up(_ members: inout StepMembers) throws
}

/// A step that also leads back to the older version.
public protocol ReversibleSwiftStep: SwiftStep {
    /// Makes the members of the older version of those of the newer one: the inverse of `up` as far as its class promises.
    func down(_ members: inout StepMembers) throws
}

/// Why a step can't convert an event.
public struct StepFailure: Error, Hashable, Sendable, CustomStringConvertible {
    /// RFC 6901, from the payload's root.
    public var pointer: String
    public var expected: String
    public var found: String

    public init(at pointer: String = "", expected: String, found: String) {
        (self.pointer, self.expected, self.found) = (pointer, expected, found)
    }

    public var description: String { "\(pointer.isEmpty ? "the payload" : pointer) should be \(expected), found \(found)" }
}
