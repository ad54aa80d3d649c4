internal import EventModel
internal import JSONText

/// The constants in the steps of a history: generated events that contain them reach branches that other events do not.
struct StepConstants {
    private(set) var texts: [String] = []
    private(set) var separators: [String] = []
    /// The metadata members that steps read.
    private(set) var metadata: [String] = []

    init(_ history: History) {
        for file in history.versions {
            if let upcast = file.upcast { visit(upcast.json, under: "") }
        }
        texts += ["", "0", "1.0.0", "9.9.9"]
    }

    private mutating func visit(_ value: JSONValue, under name: String) {
        switch value {
        case .string(let text) where name == "separator": add(text, to: \.separators)
        case .string(let text) where text.hasPrefix("$metadata/"): add(String(text.dropFirst("$metadata/".count)), to: \.metadata)
        case .string(let text) where text.utf8.count < 40 && !text.hasPrefix("/") && !text.hasPrefix("$"): add(text, to: \.texts)
        case .array(let elements): for element in elements { visit(element, under: name) }
        case .object(let members):
            for member in members {
                if ["map", "down", "table", "to"].contains(name) { add(member.name, to: \.texts) }
                visit(member.value, under: member.name)
            }
        default: break
        }
    }

    private mutating func add(_ text: String, to list: WritableKeyPath<StepConstants, [String]>) {
        if !self[keyPath: list].contains(text) { self[keyPath: list].append(text) }
    }
}
