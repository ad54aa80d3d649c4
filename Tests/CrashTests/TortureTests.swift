import EvstoreTesting
import Foundation
import Testing

/// The program itself: what it hurts is its own business, and `tools/test` runs it after the tests.
@Suite("tools/torture", .serialized)
struct TortureTests {
    private static let torture = BuiltProgram("evstore-torture")

    @Test("a case that is not known is refused, and the known ones are named")
    func unknown() throws {
        for arguments in [["--case", "R99"], ["--case", "R1,"], ["--trial", "3"], ["--jobs", "0"]] {
            let outcome = try Self.torture.run(arguments)
            #expect(outcome.exit == 64, "\(arguments): \(outcome.exit)")
        }
        #expect(try Self.torture.run("--case", "R99").errors.contains("R1, "))
    }

    @Test("every case stands in the pages on tests and promises, under its name")
    func documented() throws {
        let help = try Self.torture.run("--help").output
        let list = try #require(help.range(of: "CASES")).upperBound ..< #require(help.range(of: "EXAMPLES")).lowerBound
        let names = help[list].split(whereSeparator: \.isWhitespace).filter { $0.wholeMatch(of: /R\d+/) != nil }
        #expect(names.contains("R1") && names.contains("R19"))
        let pages = URL(filePath: #filePath).deletingLastPathComponent().deletingLastPathComponent().deletingLastPathComponent()
            .appending(path: "Sources/Evstore/Evstore.docc")
        for page in ["Testing.md", "Promises.md"] {
            let text = try String(contentsOf: pages.appending(path: page), encoding: .utf8)
            for name in names { #expect(text.contains("\n| \(name) "), "\(name) in \(page)") }
        }
    }

    @Test("a trial that fails is named with the line that repeats it, and its files are kept")
    func failing() throws {
        let directory = try TemporaryDirectory()
        // On a disk that only says that it syncs no promise can be kept.
        var broken = Self.torture
        broken.environment["DISK_LIES"] = "1"
        let arguments = ["--case", "R1", "--seed", "5", "--trial", "0", "--keep", directory.path + "/kept", "--json"]
        let outcome = try broken.run(arguments)
        #expect(outcome.exit == 1)
        #expect(outcome.errors.contains("tools/torture --case R1 --seed 5 --trial 0"), "\(outcome.errors)")
        #expect(try FileManager.default.contentsOfDirectory(atPath: directory.path + "/kept").isEmpty == false)
        #expect(outcome.output.contains(#""case":"R1""#))
    }
}
