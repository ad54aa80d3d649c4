/// A `swift` step between two Swift types: the payload before the step and the payload after it.
///
/// The older type is decoded from the members that the op reads. From the encoded newer type, the members that the op writes are taken
/// over; all other members must be absent or unchanged. If a closure throws, the event has no image.
public struct TypedStep<Old: Codable & Sendable, New: Codable & Sendable>: ReversibleSwiftStep {
    public let id: String
    public let revision: Int
    private let newer: @Sendable (Old) throws -> New
    private let older: @Sendable (New) throws -> Old

    public init(
        _ id: String, revision: Int, from old: Old.Type = Old.self, to new: New.Type = New.self,
        up: @escaping @Sendable (Old) throws -> New, down: @escaping @Sendable (New) throws -> Old
    ) {
        (self.id, self.revision, newer, older) = (id, revision, up, down)
    }

    public func up(_ members: inout StepMembers) throws { try members.encode(newer(members.decode())) }

    public func down(_ members: inout StepMembers) throws { try members.encode(older(members.decode())) }
}

/// A `swift` step between two Swift types that can't convert back, for `down: one-way`.
public struct OneWayTypedStep<Old: Decodable & Sendable, New: Encodable & Sendable>: SwiftStep {
    public let id: String
    public let revision: Int
    private let newer: @Sendable (Old) throws -> New

    public init(
        _ id: String, revision: Int, from old: Old.Type = Old.self, to new: New.Type = New.self,
        up: @escaping @Sendable (Old) throws -> New
    ) {
        (self.id, self.revision, newer) = (id, revision, up)
    }

    public func up(_ members: inout StepMembers) throws { try members.encode(newer(members.decode())) }
}
