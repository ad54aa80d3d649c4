import EvstoreTesting
import Foundation
import TestSupport
import Testing

/// Every page of the tree, and which test runs what is fenced there.
@Suite("Fenced blocks of the pages")
struct DocumentedBlocksTests {
    /// Whose commands, files and printed lines GuideTests follow.
    private static let followed = Set(GuideTests.pages + GuideTests.pagesWithSQLite + GuideTests.pagesWithOpenSSL + GuideTests.pagesWithJQ)
    /// What other tests read from a page and run.
    private static let elsewhere = [
        "VersionFiles yaml": "EvstoreTests/ReferenceTests.swift", "ProjectionFiles yaml": "EvstoreTests/ReferenceTests.swift",
        "SwiftSteps yaml": "EvstoreTests/PageSwiftTests.swift", "TypedEvents swift": "EvstoreTests/TypedTests.swift",
        "Errors json": "CLITests/ErrorsPageTests.swift", "SeveralMachines sh": "EvstoreClusterTests/ClusterGuideTests.swift",
        "Serving yaml": "EvstoreWebTests/MonitoringTests.swift", "RecipesInSwift yaml": "DomainTests/LibraryTests.swift",
    ]
    private static let marks = ["sh": "# Not run by the tests: ", "swift": "// Not compiled by the tests: "]

    /// Pages of the docs catalogue by their names, others by their paths.
    private static let pages: [String] = {
        let files = FileManager.default
        let catalogue = (try? files.contentsOfDirectory(atPath: Guide.root.path + "/Sources/Evstore/Evstore.docc")) ?? []
        let schemas = (try? files.contentsOfDirectory(atPath: Guide.root.path + "/Schemas")) ?? []
        let others = [".github/CONTRIBUTING.md", ".github/SECURITY.md", "README.md", "tools/bench/README.md"]
        return catalogue.filter { $0.hasSuffix(".md") }.map { String($0.dropLast(3)) }.sorted()
            + schemas.map { "Schemas/\($0)/README.md" }.filter { files.fileExists(atPath: Guide.root.path + "/" + $0) }.sorted() + others
    }()

    /// Every source of the tests, one after the other.
    private static let sources: Data = {
        let tests = Guide.root.path + "/Tests"
        return (FileManager.default.subpaths(atPath: tests) ?? []).filter { $0.hasSuffix(".swift") }
            .compactMap { try? String(contentsOfFile: tests + "/" + $0, encoding: .utf8) }.map(lines).reduce(Data(), +)
    }()

    /// Its lines without what they are indented by, and without empty ones.
    private static func lines(_ text: String) -> Data {
        var lines = Data("\n".utf8)
        for byte in text.utf8 where lines.last != 10 || (byte != 10 && byte != 32) { lines.append(byte) }
        return lines
    }

    /// Whether the lines stand in a source together, however far they are indented.
    private static func isCompiled(_ text: String) -> Bool { sources.range(of: lines(text)) != nil }

    /// What is wrong with a block; nil where a test runs it, or where it says why none does.
    private static func fault(_ block: Guide.Block, of page: String) -> String? {
        if let mark = marks[block.language], block.text.hasPrefix(mark) {
            return block.firstLine.count > mark.count + 15 ? nil : "does not say why it is not run"
        }
        if elsewhere["\(page) \(block.language)"] != nil { return nil }
        switch block.language {
        case "sh", "yaml", "text", "json": return followed.contains(page) && block.language != "json" ? nil : "is run by no test"
        case "swift":
            if block.text.hasPrefix("// swift-tools-version") { return nil }
            return isCompiled(block.text) ? nil : "is compiled nowhere"
        case "example", "wrong": return reference.contains(page) ? nil : "is tried by no test"
        case "ini", "": return nil
        default: return "is of a language that nobody knows: \(block.language)"
        }
    }

    /// The pages whose blocks `example` and `wrong` EvstoreTests try, as they say themselves.
    private static let reference: Set<String> = {
        let source = try? String(contentsOf: Guide.root.appending(path: "Tests/EvstoreTests/PageExample.swift"), encoding: .utf8)
        let list = source?.firstMatch(of: #/static let pages = \[(.*)\]/#)?.1 ?? ""
        return Set(list.matches(of: #/"([A-Za-z]+)"/#).map { String($0.1) })
    }()

    @Test("each is run by a test, or says why not", arguments: pages)
    func blocks(_ page: String) throws {
        for block in try Guide(page).blocks {
            let fault = Self.fault(block, of: page)
            #expect(fault == nil, "\(page):\(block.line) \(fault ?? "")")
        }
    }

    @Test("one that no test runs is found, whatever its language")
    func found() {
        func fault(_ language: String, _ text: String, _ page: String = "Architecture") -> String? {
            Self.fault(Guide.Block(language: language, text: text, line: 1, heading: ""), of: page)
        }
        for language in ["sh", "swift", "json", "yaml", "text", "example", "python"] {
            #expect(fault(language, "something that stands nowhere\n") != nil, "\(language)")
        }
        #expect(fault("sh", "# Not run by the tests: \nevstore\n") != nil)
        #expect(fault("sh", "evstore status\n", "Operating") == nil)
        #expect(fault("swift", "import EvstoreTesting\nimport Foundation\n") == nil)
        #expect(fault("swift", "import Testing\nimport Bytes\n") != nil)
    }

    @Test("hardly any commands are left out")
    func honesty() throws {
        let all = try Self.followed.flatMap { try Guide($0).blocks }.filter { $0.language == "sh" }
        let left = all.filter { !$0.isRun }
        #expect(left.count * 8 < all.count, "\(left.count) of \(all.count) blocks are not run")
    }

    @Test("the tests that read a page name it", arguments: elsewhere.keys.sorted())
    func named(_ what: String) throws {
        let page = try #require(what.split(separator: " ").first)
        let file = try #require(Self.elsewhere[what])
        let text = try String(contentsOf: Guide.root.appending(path: "Tests/" + file), encoding: .utf8)
        #expect(text.contains("\(page)"), "\(file) does not name \(page)")
        #expect(try Guide(String(page)).blocks.contains { "\(page) \($0.language)" == what }, "\(what) is not there any more")
    }

    @Test("the tools that blocks without a language name are there", arguments: pages)
    func tools(_ page: String) throws {
        for block in try Guide(page).blocks where block.language.isEmpty {
            for tool in block.text.matches(of: #/(?m)^(?:[A-Z_]+=\S+ )?(tools\/[a-z\/]+)/#) {
                let path = Guide.root.appending(path: String(tool.1)).path
                #expect(FileManager.default.isExecutableFile(atPath: path), "\(page):\(block.line) \(tool.1)")
            }
        }
    }

    private static let swift =
        ["/usr/bin/swift", "/usr/local/bin/swift"]
        + (ProcessInfo.processInfo.environment["PATH"] ?? "")
        .split(separator: ":").map { $0 + "/swift" }

    @Test(
        "the manifest in the README is one that the package manager reads",
        .enabled(if: swift.contains { FileManager.default.isExecutableFile(atPath: $0) }, "there is no swift here"))
    func manifest() throws {
        let block = try #require(try Guide("README.md").blocks.first { $0.text.hasPrefix("// swift-tools-version") })
        let directory = try TemporaryDirectory()
        try directory.write(block.text, to: "Package.swift")
        let swift = try #require(Self.swift.first { FileManager.default.isExecutableFile(atPath: $0) })
        let outcome = try BuiltProgram(path: swift).run("package", "--package-path", directory.path, "dump-package")
        #expect(outcome.exit == 0, "\(outcome.errors)")
        #expect(outcome.output.contains(#""Evstore""#), "\(outcome.output)")
    }
}
