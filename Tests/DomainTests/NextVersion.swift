import Bytes
import EventModel
import EvstoreTesting
import Foundation
import JSONText
import SchemaEvolution

/// A version after a domain's newest: one type is split, a scalar of it becomes a list, and a part that holds another
/// member is hidden from older versions.
struct NextVersion {
    let type: String
    /// What both parts say of the thing that they are about.
    let keys: [String]
    let listed: JSONPointer
    let hidden: JSONPointer
    /// The type of the hidden part.
    let part = "PartKept"

    init(_ type: String, keys: String, listed: String, hidden: String) throws {
        self.type = type
        self.keys = keys.split(separator: " ").map(String.init)
        (self.listed, self.hidden) = (try JSONPointer(listed), try JSONPointer(hidden))
    }

    static func of(_ domain: String) throws -> NextVersion {
        switch domain {
        case "packages": try NextVersion("InstallBegan", keys: "at name architecture", listed: "/available", hidden: "/version")
        case "vault": try NextVersion("EntrySaved", keys: "id", listed: "/title", hidden: "/secretChangedAt")
        case "settings": try NextVersion("ProfileSaved", keys: "id", listed: "/email", hidden: "/updatedAt")
        case "saves": try NextVersion("GameSaved", keys: "slot", listed: "/purse/gems", hidden: "/inventory")
        case "cycles": try NextVersion("CycleLogged", keys: "date", listed: "/notes", hidden: "/energy")
        default: try NextVersion("ReminderScheduled", keys: "id", listed: "/content/body", hidden: "/zone")
        }
    }

    /// Whether an event of this version has several elements in its list.
    func isLong(type: String, _ payload: [UInt8]) throws -> Bool {
        guard type == self.type else { return false }
        var value: JSONValue? = try JSONValue(parsing: payload.lent)
        for name in listed.tokens { value = value?[name.text] }
        guard case .array(let elements) = value else { return false }
        return elements.count > 1
    }

    /// Whether an event of the version before becomes two.
    func isSplit(type: String, _ payload: [UInt8]) throws -> Bool {
        guard type == self.type else { return false }
        var value: JSONValue? = try JSONValue(parsing: payload.lent)
        for name in hidden.tokens { value = value?[name.text] }
        return value != nil
    }

    /// The domain's files and, after them, this version; `asking` rows for their shapes, or taking them as they come.
    func files(of domain: Domain, asking: Bool = false) throws -> SchemaFiles {
        let history = try History.load(directory: domain.path)
        let folder = URL(filePath: domain.path)
        func text(_ name: String) throws -> String { try String(contentsOf: folder.appending(path: name), encoding: .utf8) }
        let versions = try history.versions.map { try text("\($0.number).yaml") }
        var projections = try text("projections.yaml")
        if !asking { projections.replace(/\n      row:\n(        .*\n)+/, with: "\n") }
        return try SchemaFiles(versions: versions + [file(after: history)], projections: projections)
    }

    private func file(after history: History) throws -> String {
        let event = try history.requireShape(of: type, at: history.head)
        var whole = event.shape
        guard let (kept, isKept) = whole.remove(at: hidden), let scalar = whole.shape(at: listed) else { throw Unfit(pointer: hidden) }
        var list = Shape.array(of: scalar)
        // Where there was always one, there is one at least.
        if whole.isRequired(at: listed) { list.minItems = 1 }
        guard whole.replace(at: listed, with: list, required: true) else { throw Unfit(pointer: listed) }
        let picked = event.shape.properties.filter { keys.contains($0.name) }
        let part = Shape.object(
            picked + [.init(hidden.tokens[0].text, kept)],
            required: event.shape.required.intersection(Set(of: keys)).union([Name(hidden.tokens[0].text)]))
        let others = try history.types(at: history.head).filter { $0 != type }.map { name in
            let other = try history.requireShape(of: name, at: history.head)
            return "  \(name): \(Self.text(other.shape, other.stream))"
        }
        return """
            evstore: 1
            version: \(history.head.number + 1)
            forward: 1
            upcast:
              - split-event:
                  type: \(type)
                  into:
                    - type: \(type)
                      pick: [\(whole.properties.map { "/\($0.name)" }.joined(separator: ", "))]
                      do: [{wrap: {path: \(listed)}}]
                      down: \(isKept ? "{as: {\(hidden): \(kept.sample.text)}}" : "as")
                    - type: \(self.part)
                      pick: [\((keys.map { "/\($0)" } + ["\(hidden)"]).joined(separator: ", "))]
                      when: {path: \(hidden), exists: true}
                      down: {hide: "it was part of another event"}
            events:
              \(type): \(Self.text(whole, event.stream))
              \(self.part): \(Self.text(part, event.stream))
            \(others.joined(separator: "\n"))
            """
    }

    /// The shape of an event as a version file writes it.
    private static func text(_ shape: Shape, _ stream: StreamTemplate?) -> String {
        guard case .object(let members) = shape.canonical else { return "{}" }
        let name = stream.map { JSONValue.Member(name: "stream", value: .string($0.description)) }
        return JSONValue.object([name].compactMap(\.self) + members.filter { $0.name != "type" }).text
    }

    struct Unfit: Error { let pointer: JSONPointer }
}
