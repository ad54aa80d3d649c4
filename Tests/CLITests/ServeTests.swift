import TestSupport
import Testing

@Suite("evstore serve", .timeLimit(.minutes(10)))
struct ServeTests {
    @Test("is ready when it says so, alive in time, ends when asked to, keeps its schedule, and is scraped")
    func serving() throws {
        let outcome = try BuiltProgram(path: "/usr/bin/env").run(
            ["python3", Checkout.path("tools/pages/serving.py"), BuiltProgram().path])
        #expect(outcome.exit == 0, "\(outcome.output) \(outcome.errors)")
    }
}
