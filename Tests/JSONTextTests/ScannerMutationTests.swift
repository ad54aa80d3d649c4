import Bytes
import JSONText
import TestSupport
import Testing

@Suite struct ScannerMutationTests {
    @Test("damaged texts are accepted or refused, never more; what is accepted can be edited and has a canonical form")
    func mutations() throws {
        let seed = UInt64.random(in: 0 ... .max)
        var generator = SeededGenerator(seed: seed)
        let alphabet = utf8(#"{}[]":,\/0123456789eE+-.tfnrulsad "# + "\u{0}\u{1F}é😀")
        var splice = JSONEditor()
        var accepted = 0
        for round in 0 ..< 30_000 {
            var bytes = utf8(generator.object(depth: 3))
            for _ in 0 ... Int.random(in: 0 ... 2, using: &generator) {
                let place = Int.random(in: 0 ..< bytes.count, using: &generator)
                switch Int.random(in: 0 ..< 4, using: &generator) {
                case 0: bytes[place] = generator.pick(alphabet)
                case 1: bytes.insert(generator.pick(alphabet), at: place)
                case 2: bytes[place] = UInt8.random(in: 0 ... 255, using: &generator)
                default: if bytes.count > 1 { bytes.remove(at: place) }
                }
            }
            let isValid = isAccepted(bytes)
            if isValid {
                accepted += 1
                let canonical = try Canonical.bytes(of: bytes.lent)
                #expect(try Canonical.bytes(of: canonical.lent) == canonical, "seed \(seed), round \(round)")
            }
            // The splice trusts its text, and must stand one that does not deserve it.
            do throws(JSONError) {
                try splice.load(bytes.lent)
                visit(splice.root, of: &splice)
                let fault = splice.fault
                #expect(!isValid || fault == nil, "seed \(seed), round \(round)")
            } catch {
                #expect(!isValid, "seed \(seed), round \(round): \(error)")
            }
        }
        #expect(accepted > 1_000)
    }

    private func visit(_ node: JSONEditor.Node, of splice: inout JSONEditor) {
        _ = splice.name(of: node)
        _ = splice.string(node)
        _ = splice.find(JSONPointer(tokens: [MemberName("a"), MemberName("e/f")]), from: node)
        var child = splice.firstChild(of: node)
        while let inner = child {
            visit(inner, of: &splice)
            child = splice.next(after: inner)
        }
    }
}
