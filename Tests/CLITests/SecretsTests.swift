import Evstore
import EvstoreTesting
import Foundation
import TestSupport
import Testing

@Suite("Secrets on the command line")
struct SecretsTests {
    @Test("a program that has opened a store with one leaves nothing of its memory in a core dump; others are as they were")
    func dumps() throws {
        for isSealed in [true, false] {
            let sealed = try SealedShop(isSealed: isSealed).open()
            let (shop, program) = (sealed.shop, sealed.shop.program.path)
            let watching = try shell(
                shop,
                "ulimit -c 100; echo $$ >\(shop.path("pid")); exec '\(program)' watch \(sealed.key) >\(shop.path("out")) 2>\(shop.path("err"))"
            )
            try waitUntil { try shop.text("err").contains("watching after position") }
            let process = "/proc/\(try shop.text("pid").trimmingCharacters(in: .whitespacesAndNewlines))/"
            let filter = try String(contentsOfFile: process + "coredump_filter", encoding: .utf8).trimmingCharacters(
                in: .whitespacesAndNewlines)
            let limits = try String(contentsOfFile: process + "limits", encoding: .utf8).split(separator: "\n")
            let core = try #require(limits.first { $0.hasPrefix("Max core file size") }).split(separator: " ")
            watching.send(signal: SIGTERM)
            #expect(try watching.wait().exit == 0)
            #expect((UInt64(filter, radix: 16) == 0) == isSealed && (core[4] == "0") == isSealed, "\(filter) \(core)")
        }
    }

    @Test("a file of 32 bytes of text is no key, nor is one of zeros, and one of 32 random bytes is")
    func text() throws {
        let sealed = try SealedShop()
        for text in ["correct horse battery staple, ok", "0123456789abcdef0123456789abcde\n"] {
            try sealed.secret("text", text)
            #expect(try sealed.refusal("init --schemas SCHEMAS --key-file \(sealed.path("text"))") == "keyUnusable 2", "\(text)")
        }
        // As a file that somebody has reserved room for and never written.
        try Data(repeating: 0, count: 32).write(to: URL(filePath: sealed.path("zeros")))
        try FileManager.default.setAttributes([.posixPermissions: 0o600], ofItemAtPath: sealed.path("zeros"))
        try sealed.secret("digits", String(repeating: "0", count: 64))
        for zeros in ["zeros", "digits"] {
            #expect(try sealed.refusal("init --schemas SCHEMAS --key-file \(sealed.path(zeros))") == "usage 2", "\(zeros)")
        }
        #expect(throws: EvstoreError.self) { try SigningKey(parsing: Array(repeating: UInt8(ascii: "0"), count: 64)) }
        try Data((0 ..< 32).map { UInt8($0 * 7 % 251) }).write(to: URL(filePath: sealed.path("random")))
        try FileManager.default.setAttributes([.posixPermissions: 0o600], ofItemAtPath: sealed.path("random"))
        #expect(try sealed.shop.run("init --schemas SCHEMAS --key-file \(sealed.path("random"))").exit == 0)
    }
}
