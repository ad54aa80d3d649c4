internal import EventModel
internal import JSONText

/// A path, and which of its images are validated against their shapes.
struct CheckedPath {
    let path: Path
    /// Whether all images are validated; otherwise only those that the steps do not prove to fit.
    let checksAll: Bool

    @inline(__always)
    func check(_ end: PathEnd, _ payload: RawSpan) throws(EvstoreError) {
        if checksAll || end.isUnproved { try path.check(end, payload) }
    }
}

extension Path {
    func failure(step: SchemaVersion, op: String, pointer: String, expected: String, found: String) -> EvstoreError {
        .noImage(
            ImageFailure(
                type: type, born: born, target: target, step: step, op: op, pointer: pointer, expected: expected, found: found))
    }

    func failure(_ block: PathBlock) -> EvstoreError {
        var failure = ImageFailure(
            type: type, born: born, target: target, step: block.step, op: block.label, pointer: "",
            expected: "an event of a type that \(target) knows", found: block.why)
        // Blocks that no item declares have no place in a file.
        failure.isDeclared = block.mark != nil
        return .noImage(failure)
    }

    /// The error for stored bytes that are not JSON, which no append accepts.
    func malformed(_ error: JSONError) -> EvstoreError {
        failure(step: born, op: "load", pointer: "", expected: "JSON text", found: "\(error.reason) at byte \(error.offset)")
    }

    func check(_ end: PathEnd, _ payload: RawSpan) throws(EvstoreError) {
        do { try end.shape.validate(payload) } catch {
            throw failure(step: end.step, op: "shape", pointer: error.pointer, expected: error.expected, found: error.found)
        }
    }
}
