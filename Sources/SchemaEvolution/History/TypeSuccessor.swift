package import JSONText

/// What one event type is at the next version.
package struct TypeSuccessor: Sendable {
    package let type: String
    let moving: MovingOps

    /// Where a member is at the next version.
    package func place(of pointer: JSONPointer) -> JSONPointer { moving.destination(of: pointer, from: 0) }
}
