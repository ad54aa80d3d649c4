import Bytes
import EventModel
import Evstore
import JSONText
import SchemaEvolution

/// One event on its way from version 1 up, as a replay takes it: along a path that was compiled once.
public final class Upcasting {
    private let viewer: PathRunner
    private let payload: [UInt8]
    private let none: [UInt8] = []
    private let moment = Timestamp(microseconds: 0)
    private var splice = JSONEditor()

    public init(schemas: String, payload: [UInt8]) throws {
        viewer = PathRunner(try Schemas.load(schemas).history)
        self.payload = payload
    }

    /// One strict pass over the bytes that builds nothing: the unit in which the cost of an upcast is told.
    public func scan(times: Int) throws -> Int {
        let payload = self.payload
        var sum = 0
        for _ in 0 ..< times { if try JSONScanner.validate(payload.lent) == .object { sum += 1 } }
        return sum
    }

    /// The same pass when it notes where the members are.
    public func members(times: Int) throws -> Int {
        let payload = self.payload
        for _ in 0 ..< times { try splice.load(payload.lent) }
        return times
    }

    /// Bytes of all images.
    public func upcast(to version: Int, times: Int) throws -> Int {
        let path = try viewer.path(type: "OrderPlaced", born: SchemaVersion(1), to: SchemaVersion(version))
        let (payload, none) = (self.payload, self.none)
        var bytes = 0
        for _ in 0 ..< times {
            let source = SourceEvent(payload: payload.lent, time: moment, metadata: none.lent)
            try viewer.interpreter.run(path, source, stream: "") { bytes += $0.payload.byteCount }
        }
        return bytes
    }
}
