import Testing

/// Which rooms a room may open: those on lower rows, as Package.swift draws them.
let importsByRoom: [String: Set<String>] = [
    "Bytes": ["CBits"],
    "Platform": ["Bytes", "CEvstoreSystem"],
    "Hashing": ["Bytes", "CXXHash", "Crypto"],
    "Sealing": ["Bytes", "CZstd", "Crypto", "CryptoExtras"],
    "LMDB": ["Bytes", "Platform", "CLMDB"],
    "PostgreSQL": ["Bytes", "Platform"],
    "JSONText": ["Bytes"],
    "EventModel": ["Bytes", "Platform"],
    "EventLog": ["Bytes", "Platform", "Hashing", "Sealing", "LMDB", "EventModel", "Logging"],
    "ClusterLog": ["Bytes", "Hashing", "Platform", "PostgreSQL", "LMDB", "EventModel", "EventLog", "Logging"],
    "EvstoreCluster": [
        "Bytes", "Hashing", "Platform", "EventModel", "EventLog", "SchemaEvolution", "Projections", "ClusterLog", "Migration", "Evstore",
        "Logging",
    ],
    "SchemaEvolution": ["Bytes", "Hashing", "Platform", "JSONText", "EventModel", "Yams"],
    "SchemaTools": ["Bytes", "JSONText", "EventModel", "SchemaEvolution"],
    "Projections": ["Bytes", "Platform", "Hashing", "Sealing", "LMDB", "JSONText", "EventModel", "EventLog", "SchemaEvolution", "Logging"],
    "Migration": [
        "Bytes", "Platform", "Hashing", "LMDB", "JSONText", "EventModel", "EventLog", "SchemaEvolution", "Projections", "Logging",
    ],
    "LogKeeping": [
        "Bytes", "Platform", "Hashing", "Sealing", "LMDB", "JSONText", "EventModel", "EventLog", "SchemaEvolution", "Projections",
        "Migration",
    ],
    "Evstore": [
        "Bytes", "Platform", "Hashing", "LMDB", "JSONText", "EventModel", "EventLog", "SchemaEvolution", "SchemaTools", "Projections",
        "Migration", "LogKeeping",
        "Logging",
    ],
    "EvstoreTesting": ["Bytes", "JSONText", "Evstore", "Logging"],
    "EvstoreCLI": [
        "Bytes", "Platform", "Hashing", "JSONText", "EventModel", "SchemaEvolution", "SchemaTools", "Projections", "Migration",
        "LogKeeping",
        "Evstore", "EvstoreCluster", "EvstoreService", "EvstoreWeb",
        "ArgumentParser",
        "Logging", "ServiceLifecycle",
    ],
    "EvstoreService": [
        "Platform", "Evstore", "Logging", "ServiceLifecycle", "Metrics", "Tracing", "Instrumentation", "ServiceContextModule",
    ],
    "EvstoreWeb": [
        "Bytes", "JSONText", "EventModel", "SchemaEvolution", "SchemaTools", "Projections", "Evstore", "EvstoreCluster",
        "EvstoreService", "NIOCore", "NIOHTTP1", "NIOPosix", "Metrics", "Platform",
    ],
    "evstore": ["EvstoreCLI"],
]

/// What comes with the system and its toolchain, and is no room.
private let outside: Set<String> = ["Glibc", "Synchronization", "Foundation", "FoundationEssentials", "Dispatch"]

@Suite("The house")
struct HouseTests {
    @Test("every room imports only from lower rows")
    func imports() throws {
        for file in try SourceFile.all(below: "Sources") {
            let allowed = try #require(importsByRoom[file.room], "\(file.path) lies in no room")
            for (number, line) in file.code where line.contains(#/^((internal|package|public|@testable|@_exported) )*import /#) {
                let name = String(line.split(separator: " ").last?.prefix { $0 != "." } ?? "")
                #expect(allowed.contains(name) || outside.contains(name), "\(file.path):\(number) imports \(name)")
            }
        }
    }

    @Test("only Bytes, Hashing, Sealing, Platform, LMDB and PostgreSQL say unsafe; who says @unchecked says why it is sound")
    func unsafety() throws {
        let allowed: Set<String> = ["Bytes", "Hashing", "Sealing", "Platform", "LMDB", "PostgreSQL"]
        for file in try SourceFile.all(below: "Sources") where !allowed.contains(file.room) {
            for (number, line) in file.code {
                let words = line.split { !$0.isLetter && !$0.isNumber && $0 != "_" && $0 != "@" }
                #expect(!words.contains("unsafe"), "\(file.path):\(number)")
                let why = file.lines.dropFirst(number).prefix(2).contains { $0.contains("// Sound") }
                #expect(!words.contains("@unchecked") || why, "\(file.path):\(number)")
            }
        }
    }

    @Test("the rooms that are pure do no input or output", arguments: ["Bytes", "JSONText", "EventModel"])
    func purity(room: String) throws {
        for file in try SourceFile.all(below: "Sources") where file.room == room {
            for (number, line) in file.code where line.contains("import ") {
                #expect(!line.contains("Foundation") && !line.contains("Glibc") && !line.contains("Dispatch"), "\(file.path):\(number)")
            }
        }
    }

    @Test("no file grows beyond 500 lines")
    func sizes() throws {
        for folder in ["Sources", "Tests"] {
            for file in try SourceFile.all(below: folder) {
                #expect(file.lines.count <= 500, "\(file.path) has \(file.lines.count) lines: where do its words split?")
            }
        }
    }

    @Test("no word stands that the house does not use")
    func words() throws {
        let banned = ["TODO", "FIXME", "fatalError", " print(", "ContinuousClock.now"]
        for file in try SourceFile.all(below: "Sources") {
            for (number, line) in file.lines.enumerated() {
                for word in banned where line.contains(word) && !(word == " print(" && file.room == "EvstoreCLI") {
                    Issue.record("\(file.path):\(number + 1) says \(word)")
                }
            }
            let name = file.path.split(separator: "/").last ?? ""
            for word in ["Manager", "Helper", "Util", "Impl", "Base"] {
                #expect(!name.contains(word), "\(file.path) has a name without a meaning")
            }
        }
    }

    @Test("shell commands and their options belong to the command line and the page: no other room names one in a text")
    func commands() throws {
        let files = try SourceFile.all(below: "Sources")
        let names = files.filter { $0.path.hasPrefix("Sources/EvstoreCLI/Commands/") }.flatMap(\.lines).compactMap { line in
            line.firstMatch(of: #/commandName: "([a-z-]+)"/#).map { String($0.1) }
        }
        #expect(names.count > 40 && names.contains("replay"))
        let command = try Regex("\\bevstore (--[a-z]|(\(names.joined(separator: "|")))\\b)|[ \"(`]--[a-z]")
        for file in files where !["EvstoreCLI", "EvstoreWeb", "evstore"].contains(file.room) {
            for (number, line) in file.lines.enumerated() {
                if line.drop(while: \.isWhitespace).hasPrefix("//") { continue }
                #expect(!line.contains(command), "\(file.path):\(number + 1): \(line)")
            }
        }
    }

    /// A server that another test starts would keep the other end from ever seeing an end.
    @Test("no test has a pipe or a connection that a program inherits")
    func inherited() throws {
        for file in try SourceFile.all(below: "Tests") {
            for (number, line) in file.code {
                #expect(!line.contains(#/\bPipe\(\)|unsafe pipe\(|\baccept\(/#), "\(file.path):\(number)")
            }
        }
    }

    @Test("nothing swallows an error or forces a value")
    func swallowing() throws {
        for file in try SourceFile.all(below: "Sources") {
            for (number, line) in file.code {
                #expect(!line.contains(#/\b(try[?!]|as!)/#), "\(file.path):\(number)")
            }
        }
    }

    /// Errors that are always caught by the name of their type, and become others.
    private static let signals: Set = ["Exit", "NoRoom", "OpStop", "OutputClosed", "StatementError"]

    @Test("every error has words of its own, and no message shows how Swift would write it")
    func errors() throws {
        let declaration = #/\b(?:struct|enum|class) (\w+): ([\w, ]*)/#
        let found = try SourceFile.all(below: "Sources").flatMap(\.code).compactMap { $0.text.firstMatch(of: declaration) }
        let errors = found.filter { $0.2.split { !$0.isLetter }.contains("Error") && !Self.signals.contains(String($0.1)) }
        #expect(errors.count > 10)
        let worded = try SourceFile.all(below: "Sources").flatMap(\.code).compactMap { line in
            line.text.firstMatch(of: #/extension (\w+): CustomStringConvertible/#).map { String($0.1) }
        }
        for error in errors where !worded.contains(String(error.1)) {
            #expect(error.2.contains("CustomStringConvertible"), "\(error.1)")
        }
    }

    /// Classes whose end closes, unlocks or gives back something, and none of whose methods uses that.
    private static let withoutMethods: Set = ["CommitPin", "OwnedDirectory", "TemporaryDirectory", "WriteTurn"]

    /// Release builds end an object behind its last use, which may lie in the middle of a method of its own, whatever name still stands for
    /// it: then what the method works with is closed under it, and where the closing waits for the method, both wait for ever.
    @Test("each class with something to close keeps itself alive in its methods")
    func lives() throws {
        for file in try SourceFile.all(below: "Sources") {
            let text = file.code.map(\.text).joined(separator: "\n")
            for match in text.matches(of: #/(?m)\bclass (\w+)[^\n]*\{$(?:\n(?!\}).*)*?\n    deinit\b/#)
            where !Self.withoutMethods.contains(String(match.1)) {
                let name = String(match.1)
                let places = try SourceFile.all(below: "Sources").filter { other in
                    other.path == file.path || other.code.contains { $0.text.hasPrefix("extension \(name) {") }
                }
                let isKept = places.contains { $0.code.contains { $0.text.contains("withExtendedLifetime(self)") } }
                #expect(isKept, "\(file.path): \(name) may end, and close what it has, while a method of it runs")
            }
        }
    }

    @Test("one file alone knows how a guard is left out")
    func mutants() throws {
        let files = try SourceFile.all(below: "Sources").filter { file in file.lines.contains { $0.contains("EVSTORE_MUTANT") } }
        #expect(files.map(\.path) == ["Sources/Platform/Guard.swift"])
    }
}
