internal import Bytes
internal import EventLog
internal import EventModel
internal import SchemaEvolution

extension AppendValidator {
    /// Adds the payload that remains when the event's personal data is forgotten: the first candidate that has an image at every version
    /// that needs one, else the last.
    func addRest(to event: inout StoredEvent, _ entry: Entry) throws(EvstoreError) {
        guard let persons = entry.persons else { return }
        for substitute in PersonalMembers.Substitute.allCases {
            rest.removeAll()
            // Where the second candidate equals the payload, nothing has to be added: the payload itself remains.
            guard persons.leaveOut(of: event.payload.lent, by: substitute, into: &rest) || !event.forgotten.isEmpty else { return }
            event.forgotten = rest.array()
            do throws(EvstoreError) {
                return try checkImages(
                    entry, payload: event.forgotten.lent, stream: event.stream, metadata: event.metadata.lent, time: event.time)
            } catch {
                guard case .noImage = error else { throw error }
            }
        }
    }
}
