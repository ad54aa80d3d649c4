internal import EventModel

extension AppendRequest {
    /// - Throws: `EvstoreError`: appendTooLarge, eventTooLarge, misuse.
    func checkLimits(_ options: Options) throws {
        if events.isEmpty { throw EvstoreError.misuse("an append needs at least one event") }
        if events.count > options.appendEventsMax {
            throw EvstoreError.appendTooLarge(reason: "\(events.count) events, and at most \(options.appendEventsMax) are possible")
        }
        var total = 0
        for event in events {
            let bytes = event.payload.count + event.metadata.count
            if bytes > options.eventBytesMax { throw EvstoreError.eventTooLarge(bytes: bytes, limit: options.eventBytesMax) }
            if !(1 ... min(options.typeNameBytesMax, 255)).contains(event.type.utf8.count) {
                throw EvstoreError.misuse("a type name has 1 to \(options.typeNameBytesMax) bytes, not \(event.type.utf8.count)")
            }
            total += bytes + event.shadow.count
        }
        if total > options.appendBytesMax {
            throw EvstoreError.appendTooLarge(reason: "\(total) bytes, and at most \(options.appendBytesMax) are possible")
        }
    }
}
