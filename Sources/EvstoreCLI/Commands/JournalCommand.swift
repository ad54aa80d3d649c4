internal import ArgumentParser
internal import Evstore
internal import Migration

struct JournalCommand: Command {
    static let configuration = CommandConfiguration(
        commandName: "journal",
        abstract: "Prints what was registered, replayed, rolled back and so on, oldest first.",
        discussion: "Example: evstore journal --json")

    @OptionGroup(title: "Everywhere") var global: GlobalOptions

    func run(in session: Session) async throws {
        let rows = try await session.withStore(.reading) { store in try store.maintenance.journal() }
        for row in rows { try session.output.row(row) }
    }
}

extension JournalRow: Report {
    var members: Members {
        [
            "time": time, "what": kind.rawValue, "from": from, "to": to, "position": position, "seconds": duration, "outcome": outcome,
            "by": by,
        ]
    }

    var lines: [String] {
        let versions = [from, to].compactMap(\.self).map(\.description).joined(separator: " -> ")
        [
            time.description.padded(to: 27), kind.rawValue.padded(to: 8), versions.padded(to: 8),
            position.map { "at \(grouped($0.rawValue))" }, duration?.inWords, readModelBytes.map { size(bytes: $0) },
            outcome, "by \(by)",
        ].compactMap(\.self).joined(separator: "  ")
    }
}
