internal import Bytes
internal import EventLog
internal import EventModel
internal import Migration
internal import Projections
internal import SchemaEvolution

/// The result of adopting one line.
final class AdoptedLine: Sendable {
    let report: AdoptionReport
    /// Why the event has no image at a version that needs one; nil where it has all.
    let failure: EvstoreError?

    init(_ report: AdoptionReport, failure: EvstoreError?) { (self.report, self.failure) = (report, failure) }
}

extension AppendValidator {
    /// Adopts data from before versions existed: sets the event's stream, where the input names none, and reports which members are kept.
    /// Nil for an event that has a birth version.
    ///
    /// Data that no case of `adopt` fits is not refused: it is stored as it came.
    func adopt(_ event: inout NewEvent, line: UInt64, at now: Timestamp) throws(EvstoreError) -> AdoptedLine? {
        let birth = SchemaVersion(0)
        guard (event.version ?? rules.version) == birth else { return nil }
        guard history.adopts else { throw .versionNotAllowed(birth, floor: stamp.floor, top: stamp.top) }
        let metadata = event.metadata ?? []
        var report = AdoptionReport(events: 1)
        do {
            let adopted = try viewer.adopt(
                type: event.type, payload: event.payload.lent, time: event.time ?? now, metadata: metadata.lent)
            report = AdoptionReport(adopted)
            if event.stream == .unknown { event.stream = adopted.stream ?? .unknown }
            if event.stream == .unknown {
                report.unnamed = 1
                if let why = adopted.unnamed {
                    report.unnamedLines = [UnnamedLine(line: line, type: adopted.type, pointer: why.pointer, reason: why.reason)]
                }
            }
            try checkImages(
                entry(event.type, birth), payload: event.payload.lent, stream: event.stream, metadata: metadata.lent,
                time: event.time ?? now, above: SchemaVersion(1))
            return AdoptedLine(report, failure: nil)
        } catch {
            // A missing Swift step is a fault of this program and not of the data.
            if case .programNeeded = EvstoreError(converting: error) { throw EvstoreError(converting: error) }
            report = AdoptionReport(events: 1)
            report.quarantined = 1
            return AdoptedLine(report, failure: EvstoreError(converting: error))
        }
    }
}
