import EvstoreTesting
import Foundation
import TestSupport
import Testing

/// The program under a deadline: one that hangs is ended, and its exit code is 124 or a signal.
struct Hostile {
    let shop: Shop

    /// Runs a command in the shop's directory; whatever becomes of it, it ends by itself and writes nothing raw.
    func run(_ words: [String], input: String? = nil) throws -> BuiltProgram.Outcome {
        let timed = BuiltProgram(path: "/usr/bin/timeout", environment: shop.program.environment)
        let outcome = try timed.run(["-k", "1", "300", shop.program.path] + words, input: input)
        #expect(outcome.signal == nil && (0 ... 10).contains(outcome.exit), "\(words): \(outcome.signal ?? outcome.exit) \(outcome.errors)")
        #expect(!outcome.errors.hasRawControls, "\(words): \(outcome.errors)")
        return outcome
    }

    /// Puts something else in the place of a file.
    func put(_ thing: Thing, at path: String) throws {
        if FileManager.default.fileExists(atPath: path) { try FileManager.default.removeItem(atPath: path) }
        switch thing {
        case .pipe:
            let made = unsafe mkfifo(path, 0o600)
            try #require(made == 0)
        case .directory: try FileManager.default.createDirectory(atPath: path, withIntermediateDirectories: false)
        case .device: try FileManager.default.createSymbolicLink(atPath: path, withDestinationPath: "/dev/zero")
        }
    }

    /// What may stand where a file is expected; the device is behind a link.
    enum Thing: CaseIterable { case pipe, directory, device }
}

extension String {
    /// Whether a terminal would do something else with it than show it.
    var hasRawControls: Bool {
        unicodeScalars.contains { $0.value < 0x20 && $0 != "\n" && $0 != "\t" || (0x7f ... 0x9f).contains($0.value) }
    }
}
