internal import EventModel
package import JSONText

extension Shape {
    /// Whether what a pointer leads to is data of a person, by itself or as a part of what is.
    package func isPersonal(at pointer: JSONPointer) -> Bool {
        (0 ... pointer.tokens.count).contains { count in
            shape(at: JSONPointer(tokens: Array(pointer.tokens.prefix(count))))?.isPersonal == true
        }
    }
}

extension Lint {
    /// What is said wherever a person's data would stand where it is never sealed.
    package static let personsFix = "use an id that says nothing of the person"

    /// Data of persons in names of streams, or taken from metadata: both lie in the log as they are, whoever may read the rest.
    mutating func persons(_ file: VersionFile) {
        for type in file.types {
            guard let event = file.events[type] else { continue }
            for pointer in event.stream?.members ?? [] where event.shape.isPersonal(at: pointer) {
                note(
                    Rule.exposed, .warning, event.mark, "\(type): \(pointer) is personal and names the stream, which everybody can read",
                    Self.personsFix)
            }
        }
        for item in history.chain.step(to: file.number)?.step.items ?? [] {
            guard case .payload(let selection, let entries) = item.action else { continue }
            for entry in entries {
                guard let add = entry.op as? Add else { continue }
                let type = file.types.first { selection.contains($0) && file.events[$0]?.shape.isPersonal(at: add.path) == true }
                switch (add.source, type) {
                case (.metadata(let pointer)?, let type?):
                    note(
                        Rule.exposed, .warning, entry.mark,
                        "\(type): \(add.path) is personal and comes from metadata\(pointer), which everybody can read",
                        "write it into the payload from now on")
                case (.stream?, let type?):
                    note(
                        Rule.exposed, .warning, entry.mark,
                        "\(type): \(add.path) is personal and comes from the stream's name, which everybody can read", Self.personsFix)
                default: break
                }
            }
        }
    }
}
