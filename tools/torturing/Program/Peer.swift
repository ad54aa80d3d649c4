import Evstore
import Foundation
import Torturing

/// One of several processes that have one store of notes open.
enum Peer: String, CaseIterable {
    /// Appends of three callers; it ends without closing the store.
    case service
    /// One append, as a command makes it.
    case command
    /// Appends that follow each other quickly, and a pause, in which LMDB takes them.
    case visitor
    /// Looks at everything, and puts right what it finds on coming in.
    case verifier

    /// How many calls one makes that change something on the disk, about.
    var calls: Int {
        switch self {
        case .service: 260
        case .command: 24
        case .visitor: 60
        case .verifier: 30
        }
    }

    /// How many syncs of the file ahead of the log, about.
    var syncsAhead: Int {
        switch self {
        case .service: 60
        case .command, .verifier: 2
        case .visitor: 12
        }
    }

    /// - Parameter seed: what the numbers of its events follow from.
    func run(in scene: String, seed: Int) async throws {
        let (path, acks) = (scene + "/store", scene + "/acks")
        if self == .service { try await Appender(path, acks: acks, seed: seed, Worker.options, areSealed: false).run() }
        let store = try await EventStore.open(path, options: Worker.options)
        do { try await run(on: store, acks, seed) } catch {
            try await store.close()
            throw error
        }
        try await store.close()
    }

    private func run(on store: EventStore, _ acks: String, _ seed: Int) async throws {
        if self == .verifier {
            let findings = try await store.maintenance.verify(deep: true).findings.filter { $0.severity == .error }
            if !findings.isEmpty { throw Failure(findings.map(\.message).joined(separator: "; ")) }
            return
        }
        let notes = try Appender.notes(acks)
        for number in 0 ..< (self == .command ? 1 : 8) {
            let mark = Appender.mark(seed, caller: 0) + number * 10
            let receipt = try await store.append([try Note.event(mark)])
            notes.write(Data("\(receipt.positions.lowerBound) \(mark) 1\n".utf8))
            if number == 5 { try await Task.sleep(for: .milliseconds(seed % 2 == 0 ? 260 : 190)) }
        }
    }
}
