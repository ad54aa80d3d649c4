internal import Bytes
internal import EventModel
internal import JSONText

/// The keywords that describe the value itself.
extension Shape {
    /// Reads one keyword of a shape. `ShapeReader` reads the keywords that contain shapes.
    mutating func read(_ member: FileNode.Member) throws(FileProblem) {
        let (name, value) = (member.name, member.value)
        switch name {
        case "minItems", "maxItems":
            try only([.array], member)
            let count = try value.integer(name, from: 0)
            if name == "minItems" { minItems = count } else { maxItems = count }
        case "minLength", "maxLength":
            try only([.string], member)
            let count = try value.integer(name, from: 0)
            if name == "minLength" { minLength = count } else { maxLength = count }
        case "minimum", "maximum":
            try only([.integer, .number], member)
            guard case .number(let text) = value.kind else { throw value.problem("\(name) must be a number, not \(value.words)") }
            guard let number = DecimalNumber(json: Array(text.utf8).lent) else {
                throw value.problem("\(name) must be a number with \(DecimalNumber.exponents), not \(text)")
            }
            if name == "minimum" { minimum = number } else { maximum = number }
        case "format":
            try only([.string], member)
            let text = try value.text(name)
            guard let known = Format(rawValue: text) else {
                throw value.problem("there is no format \"\(text)\"", rule: FileRule.shape, fix: "the formats are: date-time, date")
                    .withRepairs(value.swapped(text, among: Format.allCases.map(\.rawValue)) ?? value.mark.repair(.remove))
            }
            format = known
        case "enum":
            try only([.string, .integer, .number, .boolean, .null], member)
            let values = try value.list(name)
            if values.isEmpty { throw value.problem("enum has no value", rule: FileRule.shape) }
            enumeration = values.map(\.json)
        case "const": constant = value.json
        case "default": defaultValue = value.json
        case "deprecated": isDeprecated = try value.flag(name)
        case "personal": isPersonal = try value.flag(name)
        case "sealed": isSealed = try value.flag(name)
        case "description": description = try value.text(name)
        case "properties":
            try only([.object], member)
            try value.map(name)
        case "required", "additionalProperties": try only([.object], member)
        case "items": try only([.array], member)
        default: break
        }
    }

    private func only(_ kinds: [Kind], _ member: FileNode.Member) throws(FileProblem) {
        if kinds.contains(kind) { return }
        let words = kinds.map(\.rawValue).joined(separator: " or ")
        throw member.problem("\(member.name) is for \(words), and this is \(noun)", rule: FileRule.shape)
            .withRepairs(member.value.mark.repair(.remove))
    }
}

extension Shape {
    /// Reads a shape with the references of a file's `$defs`; throws the first problem.
    package init(reading node: FileNode, definitions: FileNode? = nil) throws(FileProblem) {
        var reader = ShapeReader(definitions: definitions)
        let shape = reader.read(node)
        if let first = reader.findings.findings.first { throw FileProblem(first) }
        guard let shape else { throw node.problem("this is not a shape", rule: FileRule.shape) }
        self = shape
    }
}
