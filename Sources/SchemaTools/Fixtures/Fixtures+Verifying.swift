package import EventModel
package import SchemaEvolution

extension Fixtures {
    /// Checks that every fixture is an event of its version, has an image at every newer version, and has the recorded images at all other
    /// versions.
    package func verify(_ history: History) throws(EvstoreError) -> (findings: [Finding], images: Int) {
        let (compared, images) = try compare(history)
        return (findings + compared, images)
    }

    /// Compares the events' images at every other version with the recorded ones.
    func compare(_ history: History) throws(EvstoreError) -> (findings: [Finding], images: Int) {
        var all: [Finding] = []
        var images = 0
        for rendering in try renderings(history) {
            all += rendering.failures
            images += rendering.text.utf8.count { $0 == UInt8(ascii: "\n") }
            var files = FixtureFiles()
            try files.add([rendering], history)
            for change in files.changes { all.append(finding(change, rendering)) }
        }
        return (all, images)
    }

    /// Compares for a lint: unrecorded images are reported as one note, and so are differences while one of the versions may still change.
    func differences(_ history: History) throws(EvstoreError) -> [Finding] {
        var (found, missing): ([Finding], [Finding]) = ([], [])
        for var finding in try compare(history).findings {
            if finding.severity == .warning {
                missing.append(finding)
                continue
            }
            if finding.id == Rule.fixture, finding.advice?.calls == [.recordFixtures(overwriting: true)] { finding.severity = .note }
            found.append(finding)
        }
        if var first = missing.first {
            let others = missing.count == 1 ? "" : ", and so of \(missing.count - 1) more"
            (first.severity, first.message) = (.note, "\(first.message) to compare with\(others)")
            found.append(first)
        }
        return found
    }

    private func finding(_ change: FixtureFiles.Change, _ rendering: FixtureRendering) -> Finding {
        let what = "fixtures of \(rendering.born) at \(rendering.seen)"
        guard change.old != nil else {
            return Finding(
                id: Rule.fixture, severity: .warning, file: change.file, line: 1, column: 1, message: "\(what): nothing is recorded",
                advice: "\(.recordFixtures(overwriting: false))")
        }
        let difference = change.difference
        return Finding(
            id: Rule.fixture, file: change.file, line: difference.line, column: 1,
            message: "\(what): it was \(difference.old ?? "nothing") and is \(difference.new ?? "nothing")",
            advice: change.isFixed
                ? "both versions are released: a step was changed that must not change"
                : "where that is meant: \(.recordFixtures(overwriting: true))")
    }
}
