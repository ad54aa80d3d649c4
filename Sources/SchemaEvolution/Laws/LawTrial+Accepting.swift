internal import Bytes
package import EventModel

extension LawTrial {
    /// Tries L8 on an event of the log: it fits the shape that it was born with, and has an image, or none by declaration, at every
    /// version from the floor up to its birth version: the gate has checked these, whatever was live then.
    package mutating func check(accepted event: LawEvent, from floor: SchemaVersion) {
        guard event.born.number > 0 else { return }
        let start = [GroupPart(type: event.type, payload: event.payload)]
        func count(_ error: EvstoreError?, at target: SchemaVersion) {
            noted.count(LawVerdict(law: "L8", holds: error == nil, error: error), of: [event], at: target)
        }
        count(viewer.mismatch(event), at: event.born)
        var target = event.born
        // Nothing is promised below a step that has no way down.
        while target > floor, target.number > 1, !history.opClass(from: target.previous, to: target).contains(.oneWay) {
            target = target.previous
            do {
                _ = try see(start, of: event, from: event.born, to: target)
                count(nil, at: target)
            } catch { count(error, at: target) }
        }
    }
}

extension Viewer {
    /// Why an event does not fit the shape that it was born with; nil where it does.
    fileprivate func mismatch(_ event: LawEvent) -> EvstoreError? {
        do {
            let shape = try history.requireShape(of: event.type, at: event.born)
            do { try shape.validate(event.payload.lent) } catch {
                return .noImage(
                    ImageFailure(
                        type: event.type, born: event.born, target: event.born, step: event.born, op: "shape", pointer: error.pointer,
                        expected: error.expected, found: error.found))
            }
            return nil
        } catch { return error }
    }
}
