internal import Bytes
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

    /// Reports personal members whose plainest value has no image at the version before or after: a forgotten event would disappear there.
    mutating func forgetting(_ file: VersionFile) {
        let (viewer, none) = (PathRunner(history), [UInt8]())
        for type in file.types {
            guard let event = file.events[type], let persons = PersonalMembers(event) else { continue }
            for other in [file.number.previous, file.number.next] {
                guard let target = history[other] else { continue }
                for payload in ShapeExamples(of: event.shape).texts {
                    var rest = ByteBuffer()
                    _ = persons.leaveOut(of: payload.lent, by: .emptiest, into: &rest)
                    let left = rest.array()
                    do {
                        let source = SourceEvent(payload: left.lent, time: .now, metadata: none.lent)
                        let kind = TypeAtVersion(type: type, version: file.number)
                        try viewer.view(source, of: kind, stream: "", at: other, validating: true) { _ in }
                    } catch EvstoreError.noImage(let failure) where concerns(failure, event.shape, target) {
                        note(
                            Rule.unforgettable, .warning, event.mark,
                            "\(type): \(failure.pointer) is personal, and what is left of it when it is forgotten has no image at "
                                + "\(other) (\(failure.op)): the event would disappear there",
                            "put the op into when, with else for the value that it can't convert, or allow null in both versions")
                        break
                    } catch {
                        // Another failure is no matter of personal data.
                    }
                }
            }
        }
    }

    /// Whether a failure is at a personal member of the event, or of an image.
    private func concerns(_ failure: ImageFailure, _ shape: Shape, _ target: VersionFile) -> Bool {
        if failure.isDeclared { return false }
        let pointer: JSONPointer
        do { pointer = try JSONPointer(failure.pointer) } catch { return false }
        return shape.isPersonal(at: pointer) || target.events.values.contains { $0.shape.isPersonal(at: pointer) }
    }

    /// The first type that the op affects and whose member is personal data.
    private func personal(_ path: JSONPointer, _ use: OpUse, _ file: VersionFile) -> String? {
        file.types.first { use.concerns($0) && file.events[$0]?.shape.isPersonal(at: path) == true }
    }
}
