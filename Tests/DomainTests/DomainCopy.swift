import Foundation
import Synchronization
import Testing

/// The files of a domain, to change one of them.
struct DomainCopy {
    let url = FileManager.default.temporaryDirectory.appending(path: "evstore-copy-\(UUID().uuidString)")

    init(_ domain: Domain) throws {
        try FileManager.default.copyItem(at: URL(filePath: domain.path), to: url)
    }

    func remove() throws { try FileManager.default.removeItem(at: url) }

    func replace(_ file: String, _ part: String, with other: String) throws {
        let place = url.appending(path: file)
        let text = try String(contentsOf: place, encoding: .utf8)
        try #require(text.contains(part), "\(file) has no \(part)")
        try text.replacing(part, with: other).write(to: place, atomically: true, encoding: .utf8)
    }
}

/// The steps that a migration reported.
final class Steps: Sendable {
    private let steps = Mutex<[String]>([])

    var all: [String] { steps.withLock { $0 } }

    func add(_ step: String) { steps.withLock { $0.append(step) } }
}
