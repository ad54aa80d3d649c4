internal import Bytes
package import EventModel
package import JSONText

extension VersionFile {
    /// A type's stream and shape, with all references resolved; nil if the type does not exist.
    package func shapeJSON(of type: String) -> JSONValue? {
        guard let event = events[type], case .object(var members) = event.shape.canonical else { return nil }
        members.removeAll { $0.name == "type" }
        if let stream = event.stream { members.insert(.init(name: "stream", value: .string(stream.description)), at: 0) }
        return .object([.init(name: type, value: .object(members))])
    }

    /// Checks a payload as an append does: valid JSON, one object, fitting the type's shape and naming a stream.
    /// - Returns: the stream that the type's template names; nil if there is none.
    @discardableResult
    package func validate(_ payload: [UInt8], as type: String, limits: JSONLimits = JSONLimits()) throws(EvstoreError) -> String? {
        guard let event = events[type] else { throw .unknownType(type, version: number, known: types) }
        do throws(JSONError) { _ = try JSONScanner.validate(payload.lent, limits: limits) } catch {
            throw EvstoreError(error)
        }
        do throws(ShapeError) { return try event.validatedStream(of: payload.lent) } catch {
            throw .invalidEvent(type: type, version: number, pointer: error.pointer, reason: error.reason)
        }
    }
}
