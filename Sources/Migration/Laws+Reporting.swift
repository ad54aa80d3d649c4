internal import EventModel
internal import SchemaEvolution

extension Laws {
    static let all = ["L1", "L2", "L3", "L4", "L5", "L6", "L7", "L8", "T-down", "T-up"]

    /// The cases of all types together, in the order of the files.
    static func exercised(_ cases: [StepCase]) -> [OpCount] {
        var found: [OpCount] = []
        for one in cases {
            let index = found.firstIndex { $0.version == one.step && $0.op == one.op } ?? found.count
            if index == found.count { found.append(OpCount(version: one.step, op: one.op, up: 0, down: 0)) }
            if one.direction == .up { found[index].up += one.count } else { found[index].down += one.count }
        }
        return found
    }

    /// What a person needs to see why a law does not hold: the smallest payload for which it does not.
    static func finding(_ failure: LawFailure, _ history: History) -> Finding {
        let small = failure.shrunk(history)
        let event = small.event
        var what = "\(failure.verdict.law): \(event.type) born at \(event.born) "
        what += "\(sentence(failure.verdict.law)) \(failure.target): \(event.origin.rawValue) \(small.example(history))"
        if case .noImage(let image)? = failure.verdict.error {
            what += "; \(image.op) of \(image.step) at \(image.pointer.isEmpty ? "the payload" : image.pointer) takes \(image.expected)"
        }
        let isRequired = failure.verdict.weight == .required
        return Finding(
            id: failure.verdict.law == "L1" ? "LAW102" : "LAW101", severity: isRequired ? .error : .note, position: event.position,
            message: what,
            advice: isRequired ? "see what the steps do with: \(.explainSteps)" : nil)
    }

    private static func sentence(_ law: String) -> String {
        switch law {
        case "L1": "does not come back as it was from"
        case "L3": "is not the same again after going back and forth, at"
        case "L4": "is not the same when seen step by step, at"
        case "L5": "has its parts out of order, or a stream that is not led back to, at"
        default: "has no image at"
        }
    }
}
