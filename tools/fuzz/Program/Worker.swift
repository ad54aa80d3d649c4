import Foundation
import Fuzzing

/// Tries cases in a process that may crash: before each it leaves the index of the case in a file.
struct Worker {
    private let fuzzer: Fuzzer
    private let place: FileHandle?

    init(_ schemas: String, _ seed: UInt64, at place: String?) throws {
        fuzzer = Fuzzer(try Seeds(directory: schemas), seed: seed)
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
            let input = fuzzer.input(index)
            try place?.seek(toOffset: 0)
            try place?.write(contentsOf: withUnsafeBytesOf(index))
            let verdict = await fuzzer.verdict(on: input)
            switch verdict {
            case .accepted: counts["\(input.kind.rawValue) accepted", default: 0] += 1
            case .refused: counts["\(input.kind.rawValue) refused", default: 0] += 1
            case .wrong(let what): Output.line("wrong \(index) \(what.replacing("\n", with: "\\n"))")
            }
        }
        for (name, count) in counts.sorted(by: { $0.key < $1.key }) { Output.line("count \(count) \(name)") }
    }

    func show(_ index: UInt64) async throws {
        let input = fuzzer.input(index)
        Output.line("\(input.kind.rawValue): \(input.file)")
        FileHandle.standardOutput.write(Data(input.text))
        Output.line("\n\(await fuzzer.verdict(on: input))")
    }

    private func withUnsafeBytesOf(_ index: UInt64) -> Data { Data((0 ..< 8).map { UInt8(truncatingIfNeeded: index >> (8 * UInt64($0))) }) }
}

/// Lines that are written at once: a process that crashes has said all it had to say.
enum Output {
    static func line(_ text: String) { FileHandle.standardOutput.write(Data("\(text)\n".utf8)) }
}
