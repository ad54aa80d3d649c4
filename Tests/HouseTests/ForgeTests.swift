import Foundation
import TestSupport
import Testing
import Yams

/// What a forge reads: workflows, forms for issues, pins of dependencies.
@Suite("Files of the forge")
struct ForgeTests {
    private static func names(below folder: String) -> [String] {
        let path = Checkout.path(folder)
        return (FileManager.default.subpaths(atPath: path) ?? []).filter { $0.hasSuffix(".yml") }.map { folder + "/" + $0 }.sorted()
    }

    private func tree(_ path: String) throws -> Node {
        try #require(try Yams.compose(yaml: Checkout.text(path)), "\(path) is empty")
    }

    @Test("every workflow says when and where it runs, and calls tools that are there", arguments: names(below: ".github/workflows"))
    func workflows(_ path: String) throws {
        let workflow = try tree(path)
        for name in ["name", "on", "permissions", "jobs"] { #expect(workflow.member(name) != nil, "\(path) lacks \(name)") }
        let jobs = try #require(workflow.member("jobs")?.mapping?.values.map { $0 })
        #expect(!jobs.isEmpty)
        for job in jobs {
            #expect(job.member("runs-on") != nil && job.member("timeout-minutes") != nil)
            let steps = try #require(job.member("steps")?.sequence)
            for step in steps {
                #expect((step.member("run") == nil) != (step.member("uses") == nil), "\(path): a step runs or uses something")
                for tool in (step.member("run")?.string ?? "").matches(of: #/(?:^|\s)(tools\/[a-z]+)/#) {
                    let file = Checkout.path(String(tool.1))
                    #expect(FileManager.default.isExecutableFile(atPath: file), "\(path) runs \(tool.1)")
                }
            }
        }
    }

    @Test("one workflow runs every test, and one compares the public API")
    func tools() throws {
        let texts = try Self.names(below: ".github/workflows").map { try Checkout.text($0) }
        for tool in ["run: tools/test", "run: tools/api"] { #expect(texts.contains { $0.contains(tool) }, "nothing has \(tool)") }
    }

    @Test("every form for issues has fields that can be told apart and named", arguments: ["bug", "proposal"])
    func forms(_ name: String) throws {
        let form = try tree(".github/ISSUE_TEMPLATE/\(name).yml")
        for member in ["name", "description", "body"] { #expect(form.member(member) != nil, "\(name) lacks \(member)") }
        var ids: Set<String> = []
        for field in try #require(form.member("body")?.sequence) {
            let kind = try #require(field.member("type")?.string)
            let attributes = try #require(field.member("attributes"))
            try #require(["markdown", "textarea", "input", "dropdown", "checkboxes"].contains(kind), "\(kind)")
            if kind == "markdown" {
                #expect(attributes.member("value") != nil)
                continue
            }
            let id = try #require(field.member("id")?.string)
            #expect(ids.insert(id).inserted && attributes.member("label") != nil, "\(id)")
            #expect((kind == "dropdown") == (attributes.member("options")?.sequence != nil), "\(id)")
        }
        #expect(ids.count > 2)
    }

    @Test("links of the contributor's pages lead to files", arguments: ["CONTRIBUTING", "SECURITY"])
    func links(_ name: String) throws {
        let folder = Checkout.url(".github")
        let text = try String(contentsOf: folder.appending(path: name + ".md"), encoding: .utf8)
        let links = text.matches(of: #/\]\(([^)#]+)/#).map { String($0.1) }
        #expect(!links.isEmpty)
        for link in links where !link.contains("://") {
            #expect(FileManager.default.fileExists(atPath: folder.appending(path: link).standardized.path), "\(name): \(link)")
        }
    }

    @Test("the versions of dependencies are pinned in the tree")
    func pins() throws {
        let ignored = try Checkout.text(".gitignore").split(separator: "\n")
        #expect(!ignored.contains { $0.hasPrefix("Package.resolved") || $0.hasPrefix("/Package.resolved") })
        let pins = try tree("Package.resolved").member("pins")?.sequence?.compactMap { $0.member("location")?.string } ?? []
        let manifest = try Checkout.text("Package.swift")
        let packages = manifest.matches(of: #/\.package\(url: "([^"]+)"/#).map { String($0.1) }
        #expect(!packages.isEmpty && packages.allSatisfy(pins.contains), "\(packages) and \(pins)")
    }
}

extension Node {
    /// By its text: `on` alone would be taken for a truth value.
    fileprivate func member(_ name: String) -> Node? { mapping?.first { $0.key.scalar?.string == name }?.value }
}
