import Testing

@testable import Evstore

@Suite("What status says")
struct StatusTests {
    @Test("a reader that keeps the pages of many commits is complained of, by its number")
    func readers() {
        #expect(OldestReader(process: 7, commitsBehind: 10_000).complaint == nil)
        #expect(OldestReader(process: 7, commitsBehind: 10_001).complaint?.contains("process 7") == true)
    }
}
