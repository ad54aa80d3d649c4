package import JSONText

/// What an event type becomes at the next version.
package struct TypeSuccessor: Sendable {
    package let type: String
    let moving: MovingOps

    /// The pointer of a member at the next version.
    package func place(of pointer: JSONPointer) -> JSONPointer { moving.destination(of: pointer, from: 0) }
}
