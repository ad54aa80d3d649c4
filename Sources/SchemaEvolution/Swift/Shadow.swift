internal import Bytes
package import EventModel
internal import JSONText

/// The images of one event at older versions, stored with the event because only the application's code can make them.
///
/// A record's shadow is JSON text, `{"1":[{"type":"Named","data":{…}}]}`: for each stored version, its images.
package struct Shadow: Sendable {
    package let version: SchemaVersion
    let images: [GroupPart]

    /// The stored images nearest to a version: those of the lowest version from `target` on that is below `born`. Nil if there are none.
    package init?(_ text: RawSpan, born: SchemaVersion, at target: SchemaVersion) throws(EvstoreError) {
        if text.byteCount == 0 || target >= born { return nil }
        var doc = JSONEditor()
        do { try doc.load(text) } catch { throw Self.malformed("\(error.reason) at byte \(error.offset)") }
        var nearest: (version: SchemaVersion, node: JSONEditor.Node)?
        let root = doc.root
        var child = doc.firstChild(of: root)
        while let node = child {
            guard let number = UInt32(doc.name(of: node)) else { throw Self.malformed("\(quoted(doc.name(of: node))) is no version") }
            let version = SchemaVersion(rawValue: number)
            if version >= target, version < born, nearest.map({ version < $0.version }) ?? true { nearest = (version, node) }
            child = doc.next(after: node)
        }
        guard let nearest else { return nil }
        var images: [GroupPart] = []
        child = doc.firstChild(of: nearest.node)
        while let node = child {
            guard let type = doc.member(Self.type, of: node), let name = doc.string(type), let data = doc.member(Self.data, of: node) else {
                throw Self.malformed("an image has no type or no data")
            }
            var payload = ByteBuffer()
            doc.write(data, into: &payload)
            images.append(GroupPart(type: name, payload: payload.array()))
            child = doc.next(after: node)
        }
        if let fault = doc.fault { throw Self.malformed("\(fault.reason) at byte \(fault.offset)") }
        (version, self.images) = (nearest.version, images)
    }

    private static let type = MemberName("type")
    private static let data = MemberName("data")

    private static func malformed(_ reason: String) -> EvstoreError {
        .verificationFailed(reason: "an event's shadow can't be read: \(reason)")
    }
}

extension PathRunner {
    /// The versions, highest first and none below the floor, at which events of a type need a shadow.
    package func shadowVersions(type: String, born: SchemaVersion, floor: SchemaVersion) throws(EvstoreError) -> [SchemaVersion] {
        guard born > floor, history.chain.steps.contains(where: { $0.boundSwiftSteps.contains(where: \.keepsShadow) }) else { return [] }
        let steps = try path(type: type, born: born, to: floor).swiftSteps(.down)
        return Set(steps.filter { $0.bound.keepsShadow }.map { $0.op.step.previous }).sorted(by: >)
    }

    /// Makes the shadow of an event for the given versions, as JSON text; empty if there are none.
    /// - Throws: `EvstoreError.noImage`, `programNeeded`.
    package func shadow(
        of event: borrowing SourceEvent, _ kind: TypeAtVersion, stream: String, for versions: [SchemaVersion]
    ) throws -> [UInt8] {
        if versions.isEmpty { return [] }
        var text = ByteBuffer()
        for (index, version) in versions.enumerated() {
            text.append(index == 0 ? "{\"" : ",\"")
            text.append("\(version.rawValue)\":[")
            var count = 0
            try view(event, of: kind, stream: stream, at: version, validating: true) { image in
                text.append(count == 0 ? "{\"type\":" : ",{\"type\":")
                text.append(JSONValue.string(image.type).text)
                text.append(",\"data\":")
                text.append(image.payload)
                text.append("}")
                count += 1
            }
            text.append("]")
        }
        text.append("}")
        return text.array()
    }

    /// Calls the body with each image that is made from a shadow.
    package func view(
        _ shadow: Shadow, _ context: borrowing EventContext, at target: SchemaVersion, _ body: (borrowing Image) throws -> Void
    ) throws {
        if shadow.images.isEmpty { interpreter.countHidden() }
        if shadow.version == target {
            let types = history.types(at: target)
            for (part, image) in shadow.images.enumerated() {
                guard let index = types.place(of: image.type) else { throw history.unknown(target.description) }
                try body(Image(type: image.type, typeIndex: index, payload: image.payload.lent, part: part))
            }
        } else if shadow.images.count == 1, let image = shadow.images.first {
            try view(
                SourceEvent(payload: image.payload.lent, time: context.time, metadata: context.metadata),
                of: TypeAtVersion(type: image.type, version: shadow.version), stream: context.stream ?? "", at: target, body)
        } else if !shadow.images.isEmpty {
            try view(group: shadow.images, born: shadow.version, context, at: target, body)
        }
    }
}
