import Foundation
import Fuzzing

/// Tries cases in a process that may crash: before each it leaves the index of the case in a file.
struct Worker {
    /// A case as it came out, by its kind; shown in full where somebody looks at one.
    typealias Trial = (_ index: UInt64) async -> (kind: String, shown: [UInt8], verdict: Verdict)

    private let trial: Trial
    private let place: FileHandle?

    init(at place: String?, _ trial: @escaping Trial) throws {
        self.trial = trial
        self.place = try place.map { try FileHandle(forWritingTo: URL(filePath: $0)) }
        if place != nil { try Self.limitMemory() }
    }

    /// A text that asks for more than 6 GiB is a failure, not the end of the machine. What is mapped already, as by a sanitizer, is
    /// no part of it.
    private static func limitMemory() throws {
        let pages = try String(contentsOfFile: "/proc/self/statm", encoding: .utf8).split(separator: " ").first.flatMap { UInt($0) } ?? 0
        let most = pages * UInt(sysconf(Int32(_SC_PAGESIZE))) + (6 << 30)
        var limit = rlimit(rlim_cur: most, rlim_max: most)
        _ = unsafe setrlimit(__rlimit_resource_t(RLIMIT_AS.rawValue), &limit)
    }

    /// Prints a line for each case that came out wrong, then how many there were of each kind.
    func run(_ cases: Range<UInt64>) async throws {
        var counts: [String: Int] = [:]
        for index in cases {
            try place?.seek(toOffset: 0)
            try place?.write(contentsOf: withUnsafeBytesOf(index))
            let (kind, _, verdict) = await trial(index)
            switch verdict {
            case .accepted: counts["\(kind) accepted", default: 0] += 1
            case .refused: counts["\(kind) refused", default: 0] += 1
            case .wrong(let what): Output.line("wrong \(index) \(what.replacing("\n", with: "\\n"))")
            }
        }
        for (name, count) in counts.sorted(by: { $0.key < $1.key }) { Output.line("count \(count) \(name)") }
    }

    func show(_ index: UInt64) async throws {
        let (kind, shown, verdict) = await trial(index)
        Output.line("\(kind):")
        FileHandle.standardOutput.write(Data(shown))
        Output.line("\n\(verdict)")
    }

    private func withUnsafeBytesOf(_ index: UInt64) -> Data { Data((0 ..< 8).map { UInt8(truncatingIfNeeded: index >> (8 * UInt64($0))) }) }
}

/// Lines that are written at once: a process that crashes has said all it had to say.
enum Output {
    static func line(_ text: String) { FileHandle.standardOutput.write(Data("\(text)\n".utf8)) }
}
