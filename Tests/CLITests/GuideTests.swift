import EvstoreTesting
import Foundation
import Testing

private let (sqlite, openssl, jq) = ("/usr/bin/sqlite3", "/usr/bin/openssl", "/usr/bin/jq")

@Suite("The guides")
struct GuideTests {
    static let pages = ["GettingStarted", "InAService", "Operating", "TestingYours", "Keys", "Tags", "SeveralStreams"]
    static let pagesWithSQLite = ["FromSQLite", "FromEventStores"]
    static let pagesWithOpenSSL = ["Backups"]
    static let pagesWithJQ = ["Recipes"]

    @Test("work word for word, and print what they show", arguments: pages)
    func follow(_ page: String) throws { try Guide(page).follow() }

    @Test(
        "that begin with another database work word for word too",
        .enabled(if: FileManager.default.isExecutableFile(atPath: sqlite), "tools/setup installs sqlite3"),
        arguments: pagesWithSQLite)
    func followWithSQLite(_ page: String) throws { try Guide(page).follow() }

    @Test(
        "that have openssl make keys or hashes work word for word too",
        .enabled(if: FileManager.default.isExecutableFile(atPath: openssl), "there is no openssl here"), arguments: pagesWithOpenSSL)
    func followWithOpenSSL(_ page: String) throws { try Guide(page).follow() }

    @Test(
        "that take JSON apart with jq work word for word too",
        .enabled(if: [jq, openssl].allSatisfy(FileManager.default.isExecutableFile), "tools/setup installs jq"), arguments: pagesWithJQ)
    func followWithJQ(_ page: String) throws { try Guide(page).follow() }

    @Test("are found wanting where a line is missing, added or another, and `…` stands for what may differ")
    func strictness() {
        let output = "made shop: v1\nrun 1   2026-11-23   ok\nwell\n"
        for shown in [output, "made shop: v1\n…\nwell\n", "made … v1\nrun 1   …   ok\nwell\n", "…\n"] {
            #expect(Guide.isShown(output, by: shown), "\(shown)")
        }
        for shown in ["made shop: v1\n", output + "more\n", "made … v2\n…\n", "…\nrun 2…\nwell\n", "…\nwel\n"] {
            #expect(!Guide.isShown(output, by: shown), "\(shown)")
        }
    }
}
