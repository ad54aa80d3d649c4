internal import EventModel
internal import JSONText
internal import SchemaEvolution

extension Lint {
    /// Reports personal members that are part of stream names or come from metadata, since the log stores both unsealed.
    mutating func persons(_ file: VersionFile) {
        for type in file.types {
            guard let event = file.events[type] else { continue }
            for pointer in event.stream?.members ?? [] where event.shape.isPersonal(at: pointer) {
                note(
                    Rule.exposed, .warning, event.mark, "\(type): \(pointer) is personal and names the stream, which everybody can read",
                    "\(Rule.personsFix)")
            }
        }
        for use in history.opUses(of: file.number) where !use.isNested {
            switch use.trait {
            case .addsFromMetadata(let pointer, let path):
                guard let type = personal(path, use, file) else { continue }
                note(
                    Rule.exposed, .warning, use.mark,
                    "\(type): \(path) is personal and comes from metadata\(pointer), which everybody can read",
                    "write it into the payload from now on")
            case .addsFromStream(let path):
                guard let type = personal(path, use, file) else { continue }
                note(
                    Rule.exposed, .warning, use.mark,
                    "\(type): \(path) is personal and comes from the stream's name, which everybody can read", "\(Rule.personsFix)")
            case .removes, .rounds, nil: continue
            }
        }
    }

    /// The first type that the op affects and whose member is personal data.
    private func personal(_ path: JSONPointer, _ use: OpUse, _ file: VersionFile) -> String? {
        file.types.first { use.concerns($0) && file.events[$0]?.shape.isPersonal(at: path) == true }
    }
}
