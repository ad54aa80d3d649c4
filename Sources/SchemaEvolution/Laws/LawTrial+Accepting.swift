internal import Bytes
package import EventModel

extension LawTrial {
    /// Tries law L8 on an event of the log: it must fit the shape at its birth version, and have an image, or a declared absence, at every
    /// version from the floor up to its birth version. The gate has checked these versions, whichever version was live then.
    package mutating func check(accepted event: LawEvent, from floor: SchemaVersion) {
        guard event.born.number > 0 else { return }
        let start = [GroupPart(type: event.type, payload: event.payload)]
        func count(_ error: EvstoreError?, at target: SchemaVersion) {
            noted.count(LawVerdict(law: "L8", holds: error == nil, error: error), of: [event], at: target)
        }
        count(viewer.mismatch(event), at: event.born)
        var target = event.born
        // Nothing is promised below a one-way step.
        while target > floor, target.number > 1, !history.opClass(from: target.previous, to: target).contains(.oneWay) {
            target = target.previous
            do {
                _ = try see(start, of: event, from: event.born, to: target)
                count(nil, at: target)
            } catch { count(error, at: target) }
        }
    }
}

extension PathRunner {
    /// Why an event does not fit the shape at its birth version; nil if it does.
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
