import Testing

@Suite("How functions are declared")
struct SignatureTests {
    private static let all = Result { try SourceFile.all(below: "Sources").flatMap(Signature.all) }

    private func signatures() throws -> [Signature] { try Self.all.get() }

    @Test("the reader of declarations finds parameters, effects and bodies")
    func reader() throws {
        let found = try signatures()
        let append = try #require(found.first { $0.file.path == "Sources/EventLog/EventLog.swift" && $0.name == "append" })
        #expect(append.parameters == ["_ request: AppendRequest"] && append.says("async") && append.says("throws"))
        #expect(append.body?.contains("await committer.append(request)") == true && append.owner.contains("class EventLog"))
        #expect(append.documentation.contains("- Throws: `EvstoreError`: expectationFailed"))
        let open = try #require(found.first { $0.file.path == "Sources/Evstore/EventStore+Open.swift" && $0.name == "open" })
        #expect(open.required == ["_ path: String"] && open.parameters.count == 10 && open.modifiers == "public static")
        #expect(found.count > 2_500, "\(found.count)")
    }

    @Test("who calls a function gives it at most five things; what belongs together has a type")
    func parameters() throws {
        for signature in try signatures() where !signature.modifiers.contains("public") && !signature.isMemberwise {
            #expect(signature.required.count <= 5, "\(signature.description)")
        }
    }

    @Test("nothing is async that awaits nothing")
    func waiting() throws {
        for signature in try signatures() where signature.says("async") {
            guard let body = signature.body else { continue }
            #expect(body.contains("await"), "\(signature.description)")
        }
    }

    @Test("every public function of a store that waits without being async says that it blocks")
    func blocking() throws {
        // It reads what it is given.
        let pure: Set<String> = ["events"]
        let found = try signatures().filter { signature in
            signature.file.room == "Evstore" && signature.modifiers.contains("public") && signature.owner.contains("EventStore ")
                && signature.says("throws") && !signature.says("async") && !pure.contains(signature.name)
        }
        #expect(found.count > 15)
        for signature in found {
            #expect(signature.documentation.contains("Blocks the calling thread"), "\(signature.description)")
        }
    }
}
