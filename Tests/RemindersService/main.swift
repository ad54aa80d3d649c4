// A phone's scheduler of reminders, as a process of its own: it is told what time it is, and knows what its store says.
import Evstore
import Foundation

/// Started cold at each of its moments: it goes on to the local day, and delivers every reminder whose time has come on it.
struct Scheduler {
    static let usage = "STORE SCHEMAS require|observe|migrate VERSION ZONE MOMENT..."

    let store: EventStore
    let version: SchemaVersion
    let calendar: Calendar

    init(_ words: [String]) async throws {
        let policies: [String: Policy] = ["require": .require, "observe": .observe, "migrate": .migrate()]
        guard words.count > 4, let policy = policies[words[2]], let number = Int(words[3]), let zone = TimeZone(identifier: words[4])
        else { throw EvstoreError.misuse(Self.usage) }
        var options = Options()
        (options.mapBytes, options.ballastBytes, options.freeDiskFloorBytes) = (1 << 26, 0, 0)
        (options.appendDeadline, options.readModelDeadline) = (.seconds(300), .seconds(300))
        version = SchemaVersion(number)
        store = try await EventStore.open(
            words[0], schemas: try Schemas.load(words[1]), version: version, policy: policy, options: options)
        var local = Calendar(identifier: .gregorian)
        local.timeZone = zone
        calendar = local
    }

    func wake(at moment: String) async throws {
        let (day, time) = try local(moment)
        // Version 1 rolls over without a record.
        if try store.versions.live >= SchemaVersion(2) {
            try await append("day-\(day)", "DayRolledOver", ["day": day, "at": moment], id: "rollover:\(day)")
        }
        var due: [String] = []
        try await store.query("due", at: try store.versions.live) { row in
            let reminder = try JSONDecoder().decode(Due.self, from: Data(row.value))
            // A time that a clock change leaves out has come when a later one has.
            if try local(reminder.fireAt).time <= time { due.append(row.key) }
            return true
        }
        for id in due {
            let payload = ["id": id, "slot": day, "deliveredAt": moment]
            try await append("reminder-\(id)", "NotificationDelivered", payload, id: "\(id):\(day)")
        }
    }

    /// What the calendar and the clock on the wall say at a moment.
    private func local(_ moment: String) throws -> (day: String, time: String) {
        guard let date = ISO8601DateFormatter().date(from: moment) else { throw EvstoreError.misuse("\(moment) is no moment") }
        let parts = calendar.dateComponents([.year, .month, .day, .hour, .minute], from: date)
        return (
            String(format: "%04d-%02d-%02d", parts.year ?? 0, parts.month ?? 0, parts.day ?? 0),
            String(format: "%02d:%02d", parts.hour ?? 0, parts.minute ?? 0)
        )
    }

    /// Sends what may have been sent before: the first one counts.
    private func append(_ stream: String, _ type: String, _ payload: [String: String], id: String) async throws {
        let encoder = JSONEncoder()
        encoder.outputFormatting = .sortedKeys
        let event = NewEvent(
            stream: try StreamName(stream), type: type, payload: Array(try encoder.encode(payload)), id: try EventID(id), version: version)
        _ = try await store.append([event], sameID: .keepFirst)
    }

    private struct Due: Decodable { let fireAt: String }
}

do {
    let words = Array(CommandLine.arguments.dropFirst())
    for moment in words.dropFirst(5) {
        let scheduler = try await Scheduler(words)
        try await scheduler.wake(at: moment)
        try await scheduler.store.close()
    }
} catch {
    FileHandle.standardError.write(Data("\((error as? EvstoreError)?.message ?? "\(error)")\n".utf8))
    exit(1)
}
