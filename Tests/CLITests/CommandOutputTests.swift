import EvstoreTesting
import Foundation
import TestSupport
import Testing

@Suite("The page of what commands print")
struct CommandOutputTests {
    /// A row of the page's table.
    private struct Row {
        let isList: Bool
        let members: [String]
    }

    /// The rows by the commands that they are about.
    private static let rows = Result {
        let page = try String(contentsOfFile: Checkout.path("Sources/Evstore/Evstore.docc/CommandOutput.md"), encoding: .utf8)
        var rows: [String: Row] = [:]
        for match in page.matches(of: #/\n\| (.+) \| (a line|an object) \| (.+) \|/#) {
            let row = Row(isList: match.2 == "a line", members: code(in: match.3))
            for command in code(in: match.1) { rows[command] = row }
        }
        return rows
    }

    private static func code(in text: Substring) -> [String] { text.matches(of: #/`([^`]+)`/#).map { String($0.1) } }

    /// What shows each row, in an order that leaves each command something to print.
    private static let lines = [
        ("init", "init --at v1 --schemas SCHEMAS"), ("import", "import ORDERS --as v1"), ("snapshot take", "snapshot take first"),
        ("schema show", "schema show"), ("schema show TYPE", "schema show OrderPlaced"), ("plan", "plan --to v2 --schemas SCHEMAS"),
        ("replay", "replay --to v2 --schemas SCHEMAS"), ("query", "query orders"), ("query --count", "query orders --count"),
        ("diff", "diff orders --at v1 --at v2"), ("append", #"append order-9 OrderPaid {"id":"9"}"#), ("verify", "verify"),
        ("rollback --plan", "rollback --plan"), ("rollback", "rollback"), ("status", "status"), ("journal", "journal"),
        ("snapshot list", "snapshot list"),
        ("snapshot verify", "snapshot verify first"), ("snapshot prune", "snapshot prune --keep 9"), ("backup", "backup BACKUPS"),
        ("backup --list", "backup BACKUPS --list"), ("backup --verify", "backup BACKUPS --verify"),
        ("restore", "restore BACKUPS --into RESTORED"), ("follow", "--store STANDBY follow --from BACKUPS --once"),
        ("promote", "--store STANDBY promote"),
        ("salvage", "salvage --into SALVAGED"), ("drill", "drill --to v2 --backup BACKUPS"),
        ("recipher", "recipher --into SEALED --new-key-file KEY"), ("key list", "--store SEALED --key-file KEY key list"),
        ("key add", "--store SEALED --key-file KEY key add --new-key-file OTHER"),
        ("key rotate", "--store SEALED --key-file KEY key rotate"),
        ("key retire", "--store SEALED --key-file KEY key retire slot 2"),
        ("forget", "--store SEALED --key-file KEY forget order-1 --for-good"), ("finalize", "finalize v1"),
        ("schema check", "schema check --schemas SCHEMAS"), ("schema lint", "schema lint --schemas SCHEMAS"),
        ("schema diff", "schema diff v1 v2 --schemas SCHEMAS"), ("schema explain", "schema explain OrderPlaced --schemas SCHEMAS"),
        ("schema fmt", "schema fmt --schemas SCHEMAS"), ("schema fixtures record", "schema fixtures record --schemas SCHEMAS"),
        ("schema fixtures verify", "schema fixtures verify --schemas SCHEMAS"), ("schema lock", "schema lock --schemas SCHEMAS"),
        ("schema validate", "schema validate OrderPaid@v1 PAYLOADS --schemas SCHEMAS"), ("schema new", "schema new --schemas SCHEMAS"),
        ("consume", "consume mailer --once --attempts 1 -- false"), ("consumers list", "consumers list"),
        ("consumers parked", "consumers parked mailer"), ("consumers retry", "consumers retry mailer"),
        ("consumers drop", "consumers drop mailer --all --reason gone"),
        ("consumers reset", "consumers reset mailer --to end"), ("consumers remove", "consumers remove mailer"),
        ("quarantine show", "quarantine show 6"), ("quarantine list", "quarantine list"), ("quarantine retry", "quarantine retry"),
    ]

    @Test("has the members of every command, and each command prints these")
    func members() throws {
        let rows = try Self.rows.get()
        #expect(Set(rows.keys) == Set(Self.lines.map(\.0)))
        let shop = try Shop()
        // Otherwise the rows of both versions are the same, and `diff` has nothing to print.
        try shop.write("schemas/projections.yaml", Shop.projections.replacing("/total: /cents", with: "/cents: /cents"))
        try shop.write("ORDERS", Shop.orders)
        try shop.write("PAYLOADS", #"{"id":"1"}"# + "\n")
        for name in ["KEY", "OTHER"] {
            try shop.write(name, String(repeating: name == "KEY" ? "0a" : "1b", count: 32))
            try FileManager.default.setAttributes([.posixPermissions: 0o600], ofItemAtPath: shop.path(name))
        }
        let names = ["ORDERS", "PAYLOADS", "KEY", "OTHER", "BACKUPS", "RESTORED", "STANDBY", "SALVAGED", "SEALED"]
        for (name, line) in Self.lines {
            if name == "quarantine show" {
                try shop.must(#"append order-7 OrderPlaced {"id":"7","customer":"Ed","total":1,"code":"x"}"#)
                #expect(try shop.run("replay --to v3 --schemas SCHEMAS --on-error quarantine").exit == 8)
            }
            let words = line.split(separator: " ").map { names.contains(String($0)) ? Substring(shop.path(String($0))) : $0 }
            let outcome = try shop.run("--json " + words.joined(separator: " "))
            let row = try #require(rows[name], "the page lacks \(name)")
            let first = try #require(outcome.lines.first, "\(line) prints nothing: \(outcome.errors)")
            #expect(try keys(first) == row.members, "\(line) prints \(first)")
            if !row.isList { #expect(outcome.lines.count == 1, "\(name)") }
        }
    }

    @Test("has the members of an error")
    func errors() throws {
        let page = try String(contentsOfFile: Checkout.path("Sources/Evstore/Evstore.docc/CommandOutput.md"), encoding: .utf8)
        let text = try #require(page.components(separatedBy: "\n## Errors\n").last)
        let outcome = try Shop().run("--json status")
        #expect(outcome.exit == 2)
        let error = try #require(try member(outcome.line, "error"))
        let place = try #require(try member(outcome.line, "error", "at"))
        for name in try keys(error) { #expect(text.contains("\"\(name)\":"), "\(name)") }
        for name in try keys(place) { #expect(text.contains("`\(name)`"), "\(name)") }
    }
}
