#if Service
    import EvstoreService
    import EvstoreTesting
    import Foundation
    import TestSupport
    import Testing

    /// The alerts and the dashboard of `tools/monitoring`. That `serve` gives these figures is seen by `tools/pages/serving.py`.
    @Suite("Monitoring")
    struct MonitoringTests {
        private static let files = ["evstore.rules.yml", "evstore.rules.test.yml", "evstore-dashboard.json"]

        /// The metrics that a text names, as `StoreMetrics` calls them.
        private func named(_ text: String) -> Set<String> {
            let names = text.matches(of: #/\bevstore_[a-z_]+/#).map { String($0.0) }
            return Set(names.map { $0.replacing(#/_(total|bucket|sum|count)$/#, with: "") })
        }

        @Test("names figures that there are", arguments: files)
        func names(_ file: String) throws {
            let found = try named(Checkout.text("tools/monitoring/" + file))
            #expect(found.count >= 5 && found.subtracting(StoreMetrics.help.keys).isEmpty, "\(found.subtracting(StoreMetrics.help.keys))")
        }

        @Test("every figure has its words, in the page Serving and for who scrapes it")
        func documented() throws {
            let lines = try Checkout.text("Sources/Evstore/Evstore.docc/Serving.md").split(separator: "\n")
            let rows = lines.filter { $0.hasPrefix("| `evstore_") }
            let table = Set(rows.compactMap { $0.split(separator: "`").dropFirst().first.map(String.init) })
            #expect(table == Set(StoreMetrics.help.keys))
            #expect(StoreMetrics.help.values.allSatisfy { $0.hasSuffix(".") && !$0.contains("\n") })
        }

        @Test("the dashboard is JSON whose panels each ask for something, beside each other")
        func dashboard() throws {
            let text = try Checkout.text("tools/monitoring/evstore-dashboard.json")
            let board = try #require(try JSONSerialization.jsonObject(with: Data(text.utf8)) as? [String: Any])
            let panels = try #require(board["panels"] as? [[String: Any]])
            #expect(Set(panels.compactMap { $0["id"] as? Int }).count == panels.count && panels.count > 10)
            for panel in panels {
                let targets = panel["targets"] as? [[String: Any]] ?? []
                #expect(!targets.isEmpty && targets.allSatisfy { !named($0["expr"] as? String ?? "").isEmpty }, "\(panel["title"] ?? "")")
                let place = panel["gridPos"] as? [String: Int] ?? [:]
                #expect((place["x"] ?? 99) + (place["w"] ?? 99) <= 24)
            }
        }

        private static let promtool = "/usr/bin/promtool"

        @Test(
            "alerts are ones that promtool takes, and fire when they should",
            .enabled(if: FileManager.default.isExecutableFile(atPath: promtool)))
        func alerts() throws {
            let directory = Checkout.path("tools/monitoring") + "/"
            for words in [["check", "rules", directory + "evstore.rules.yml"], ["test", "rules", directory + "evstore.rules.test.yml"]] {
                let outcome = try BuiltProgram(path: Self.promtool).run(words)
                #expect(outcome.exit == 0, "\(outcome.output)\(outcome.errors)")
            }
        }

        @Test(
            "the configuration in the page Serving is one that promtool takes",
            .enabled(if: FileManager.default.isExecutableFile(atPath: promtool)))
        func configuration() throws {
            let page = try Checkout.text("Sources/Evstore/Evstore.docc/Serving.md")
            let block = String(try #require(page.firstMatch(of: #/```yaml\n([^`]*)```/#)).1)
            let directory = try TemporaryDirectory()
            try directory.write(
                block.replacing("/usr/local/share/evstore/monitoring", with: Checkout.path("tools/monitoring")), to: "prometheus.yml")
            let outcome = try BuiltProgram(path: Self.promtool).run("check", "config", directory.path + "/prometheus.yml")
            #expect(outcome.exit == 0 && outcome.output.contains("15 rules found"), "\(outcome.output)\(outcome.errors)")
        }
    }
#endif
