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
