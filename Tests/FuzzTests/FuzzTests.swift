import EvstoreTesting
import TestSupport
import Testing

@Suite("Broken files and events")
struct FuzzTests {
    @Test("each of five hundred is answered by the right result or by a clear error")
    func answered() throws {
        let program = BuiltProgram("evstore-fuzz")
        let seed = UInt64.random(in: 0 ... .max)
        let outcome = try program.run(
            "--schemas", Checkout.path("Schemas"), "--seed", "\(seed)", "--count", "500", "--deadline", "300")
        #expect(outcome.exit == 0, "seed \(seed): \(outcome.output)\(outcome.errors)")
        #expect(outcome.lines.last == "every case was answered", "seed \(seed)")
    }

    @Test(
        "each of a hundred stores and backups whose numbers are at their ends is answered, whatever is asked of it",
        .timeLimit(.minutes(20))
    )
    func stores() throws {
        let seed = UInt64.random(in: 0 ... .max)
        let outcome = try BuiltProgram("evstore-fuzz").run(
            "--stores", "--schemas", Checkout.path("Schemas"), "--seed", "\(seed)", "--count", "100", "--deadline", "300")
        #expect(outcome.exit == 0, "seed \(seed): \(outcome.output)\(outcome.errors)")
        #expect(outcome.lines.last == "every case was answered", "seed \(seed)")
    }
}
