/// What a step does to a payload where no op can say it: the code behind a `swift` op of a version file.
///
/// Pure: the same members give the same members, whatever the time, the machine and the order of events. It is handed what
/// the op declares to read and may change what the op declares to write. What it throws leaves the event without an image;
/// a `StepFailure` says where and why.
public protocol SwiftStep: Sendable {
    /// What the version file calls it.
    var id: String { get }
    /// What the version file asks for; grows with every change of what it does, until the version is released.
    var revision: Int { get }

    /// Makes the members of the newer version of those of the older one.
    func up(_ members: inout StepMembers) throws
}

/// A step that also leads back.
public protocol ReversibleSwiftStep: SwiftStep {
    /// Makes the members of the older version of those of the newer one: the inverse of `up` as far as its class promises.
    func down(_ members: inout StepMembers) throws
}

/// Why a step does not take an event.
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
