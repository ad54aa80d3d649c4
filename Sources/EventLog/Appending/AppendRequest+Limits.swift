internal import EventModel

extension AppendRequest {
    /// - Throws: `EvstoreError`: appendTooLarge, eventTooLarge, misuse.
    func checkLimits(_ options: Options) throws {
        if events.isEmpty { throw EvstoreError.misuse("an append needs at least one event") }
        if events.count > options.appendEventsMax {
            throw EvstoreError.appendTooLarge(reason: "\(events.count) events, and at most \(options.appendEventsMax) are possible")
        }
        let events = self.events.span
        let typeNameBytes = 1 ... min(options.typeNameBytesMax, 255)
        for index in events.indices {
            try options.checkEvent(payloadBytes: events[index].payload.count, metadataBytes: events[index].metadata.count)
            if !typeNameBytes.contains(events[index].type.utf8.count) {
                throw EvstoreError.misuse(
                    "a type name has 1 to \(options.typeNameBytesMax) bytes, not \(events[index].type.utf8.count)")
            }
        }
        if payloadBytes > options.appendBytesMax {
            throw EvstoreError.appendTooLarge(reason: "\(payloadBytes) bytes, and at most \(options.appendBytesMax) are possible")
        }
    }
}
