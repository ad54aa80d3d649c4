internal import Bytes
package import EventModel
internal import FoundationEssentials
internal import JSONText
package import SchemaEvolution

/// The event lines below `fixtures/vN/` that are kept for each version: examples of its real events.
package struct Fixtures: Sendable {
    package struct Line: Sendable {
        let file: String
        let number: Int
        let type: String
        let payload: [UInt8]
        let stream: StreamName
        let time: Timestamp
        let metadata: [UInt8]
    }

    /// A type of a version for which no event could be made, and the reason.
    package struct Skipped: Hashable, Sendable {
        package let version: SchemaVersion
        package let type: String
        package let why: String
    }

    let directory: String
    package private(set) var lines: [SchemaVersion: [Line]] = [:]
    /// The current contents of the files, by path.
    private var texts: [String: String] = [:]
    /// Findings about lines that are not events of their version.
    private(set) var findings: [Finding] = []

    /// Loads the fixtures beside version files; nil if there are none.
    package static func load(directory: String, _ history: History) throws(EvstoreError) -> Fixtures? {
        var fixtures = Fixtures(beside: directory)
        let place = fixtures.directory
        guard FileManager.default.fileExists(atPath: place) else { return nil }
        for version in history.versions {
            let folder = "\(place)/\(version.number)"
            guard FileManager.default.fileExists(atPath: folder) else { continue }
            let names = try onFiles("reading \(folder)") { try FileManager.default.contentsOfDirectory(atPath: folder) }
            for name in names.sorted() where name.hasSuffix(".jsonl") { try fixtures.read("\(folder)/\(name)", version) }
        }
        return fixtures
    }

    /// An empty set of fixtures beside the version files of a directory.
    package init(beside directory: String) { self.directory = directory + (directory.hasSuffix("/") ? "" : "/") + "fixtures" }

    /// The path of the file in which a version's events are recorded.
    package func path(of version: SchemaVersion) -> String { "\(directory)/\(version)/events.jsonl" }

    /// Replaces the recorded events of a version by these event lines.
    package mutating func replace(_ text: String, of version: VersionFile) throws(EvstoreError) {
        let path = path(of: version.number)
        lines[version.number, default: []].removeAll { $0.file == path }
        for (number, line) in Self.lines(of: Array(text.utf8)) {
            lines[version.number, default: []].append(try Line(line, of: version, file: path, number: number))
        }
    }

    /// The lines of a text that are not empty, with their numbers.
    static func lines(of text: [UInt8]) -> [(number: Int, text: [UInt8])] {
        text.split(separator: UInt8(ascii: "\n"), omittingEmptySubsequences: false).enumerated()
            .filter { !$0.element.isEmpty }.map { ($0.offset + 1, Array($0.element)) }
    }

    /// Makes events from their shapes for the types that have none.
    /// - Returns: the files to which they are appended, and the types for which none could be made, with the reason.
    package mutating func fill(
        _ history: History
    ) throws(EvstoreError) -> (files: [(version: VersionFile, text: String)], skipped: [Skipped]) {
        try history.requireSwiftSteps(through: history.head)
        var generator = EventGenerator(history, seed: 1)
        var files: [(version: VersionFile, text: String)] = []
        var skipped: [Skipped] = []
        for version in history.versions {
            let kept = Set(of: (lines[version.number] ?? []).map(\.type))
            let source = FixtureSource(generating: version.types.filter { !kept.contains($0) }, of: version, history, &generator)
            skipped += source.skipped
            if source.text.isEmpty { continue }
            let path = path(of: version.number)
            let before = texts[path] ?? ""
            let text = before + (before.isEmpty || before.hasSuffix("\n") ? "" : "\n") + source.text
            files.append((version, text))
            // Order: replacing comes after appending, since it renumbers the lines of the file.
            try replace(text, of: version)
        }
        return (files, skipped)
    }

    private mutating func read(_ path: String, _ version: VersionFile) throws(EvstoreError) {
        let text = try FileReader.bytes(path: path, atMost: FixtureSource.bytesMax)
        texts[path] = String(decoding: text, as: UTF8.self)
        for (number, line) in Self.lines(of: text) {
            do throws(EvstoreError) {
                lines[version.number, default: []].append(try Line(line, of: version, file: path, number: number))
            } catch {
                findings.append(
                    Finding(
                        id: Rule.fixture, file: path, line: number, column: 1,
                        message: "it is not an event of \(version.number): \(error.message)",
                        fix: "put the line right, or into another version's folder"))
            }
        }
    }

    /// Checks that every type of every version has an event, and that every line is an event.
    func check(_ history: History) -> [Finding] {
        var all = findings
        for version in history.versions {
            let kept = Set(of: (lines[version.number] ?? []).map(\.type))
            for type in version.types where !kept.contains(type) {
                let file = path(of: version.number)
                var finding = Finding(
                    id: Rule.fixture, severity: version.isReleased ? .error : .warning, file: version.file,
                    line: version.events[type]?.mark.line ?? 1, column: 1, message: "the fixtures of \(version.number) hold no \(type)",
                    advice: "\(.recordFixtures(overwriting: false)) makes one; or append one to \(file), as an event line")
                if let line = version.sampleLine(of: type) { finding.repairs = [Repair(file: file, .lines([line]))] }
                all.append(finding)
            }
        }
        return all
    }
}

/// The stream of a type's fixtures where no template names one.
private func plainStream(of type: String) -> String { "\(StreamName.encoded(type))-1" }

extension VersionFile {
    /// An event line of a type with the simplest payload that fits.
    package func sampleLine(of type: String) -> String? {
        (events[type]?.shape.sample.text).flatMap { line(of: type, Array($0.utf8)) }
    }

    /// An event line of a type; nil if the payload does not fit or does not name a stream.
    func line(of type: String, _ payload: [UInt8], metadata: [UInt8] = []) -> String? {
        guard let event = events[type] else { return nil }
        do throws(ShapeError) {
            let stream = try event.validatedStream(of: payload.lent) ?? plainStream(of: type)
            let more = metadata.isEmpty ? "" : ",\"metadata\":\(String(decoding: metadata, as: UTF8.self))"
            return "{\"stream\":\(JSONValue.string(stream).text),\"type\":\(JSONValue.string(type).text),"
                + "\"data\":\(String(decoding: payload, as: UTF8.self))\(more)}"
        } catch { return nil }
    }
}

extension Fixtures.Line {
    /// Reads an event line and checks it as an append does. A missing stream is the one that the type's template names; where there is
    /// none, it gets a fixed default, and so does a missing time.
    init(_ text: [UInt8], of version: VersionFile, file: String, number: Int) throws(EvstoreError) {
        let value: JSONValue
        do throws(JSONError) { value = try JSONValue(parsing: text.lent) } catch {
            throw EvstoreError(error)
        }
        guard case .string(let type)? = value.member("type"), let data = value.member("data") else {
            throw .invalidLine(reason: "an event line has type and data", pointer: "")
        }
        (self.file, self.number, self.type) = (file, number, type)
        payload = Array(data.text.utf8)
        let named = try version.validate(payload, as: type)
        switch value.member("stream") {
        case nil: stream = try StreamName(named ?? plainStream(of: type))
        case .string(let given)?: stream = try StreamName(given)
        default: throw .invalidLine(reason: "should be text", pointer: "/stream")
        }
        if let named, named != stream.text {
            throw .streamMismatch(given: stream.text, expected: named, type: type, version: version.number)
        }
        switch value.member("time") {
        case nil, .null?: time = Timestamp(microseconds: 0)
        case .string(let text)?:
            guard let said = Timestamp(text) else { throw .invalidLine(reason: "time is not RFC 3339", pointer: "/time") }
            time = said
        default: throw .invalidLine(reason: "should be text", pointer: "/time")
        }
        switch value.member("metadata") {
        case nil, .null?: metadata = []
        case .object(let members)?: metadata = Array(JSONValue.object(members).text.utf8)
        default: throw .invalidLine(reason: "should be a JSON object", pointer: "/metadata")
        }
    }
}

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

/// The fixtures of one version as seen at another, one image per line: `fixtures/vN/seen/vM.jsonl`.
///
/// `{"of":"events.jsonl:3","stream":…,"type":…,"data":…}`, with `part` if it is above 0 and `tags` if it has some; `{"of":…,"hidden":true}` if a step
/// hides or drops the event; `{"of":…,"error":…}` if it has no image.
package struct FixtureRendering: Sendable {
    package let born: SchemaVersion
    package let seen: SchemaVersion
    package let file: String
    package let text: String
    /// Events without an image at a newer version, where they must have one.
    package let failures: [Finding]
}

extension Fixtures {
    /// The fixtures of every version as seen at every other version.
    package func renderings(_ history: History) throws(EvstoreError) -> [FixtureRendering] {
        try history.requireSwiftSteps(through: history.head)
        var renderings: [FixtureRendering] = []
        for born in lines.keys.sorted() {
            // Paths from one version are not needed for the next.
            let viewer = PathRunner(history)
            for seen in history.versions.map(\.number) where seen != born {
                renderings.append(rendering(of: born, at: seen, viewer))
            }
        }
        return renderings
    }

    private func rendering(of born: SchemaVersion, at seen: SchemaVersion, _ viewer: PathRunner) -> FixtureRendering {
        var text = ""
        var failures: [Finding] = []
        for line in lines[born] ?? [] {
            let place = JSONValue.string("\(line.file.split(separator: "/").last ?? ""):\(line.number)")
            func add(_ members: [JSONValue.Member]) { text += JSONValue.object([.init(name: "of", value: place)] + members).text + "\n" }
            do {
                let images = try line.images(born: born, at: seen, viewer)
                for image in images { add(image) }
                if images.isEmpty { add([.init(name: "hidden", value: .bool(true))]) }
            } catch {
                let why = (error as? EvstoreError)?.message ?? "\(error)"
                add([.init(name: "error", value: .string(why))])
                if seen > born {
                    failures.append(
                        Finding(
                            id: Rule.upNotTotal, file: line.file, line: line.number, column: 1,
                            message: "this \(line.type) of \(born) has no image at \(seen): \(why)",
                            fix: "change the steps up to \(seen): what was written once must remain readable forever"))
                }
            }
        }
        return FixtureRendering(born: born, seen: seen, file: "\(directory)/\(born)/seen/\(seen).jsonl", text: text, failures: failures)
    }
}

extension Fixtures.Line {
    /// The images of the event, as the members of their lines.
    func images(born: SchemaVersion, at seen: SchemaVersion, _ viewer: PathRunner) throws -> [[JSONValue.Member]] {
        let name = try viewer.history.streamName(stream, from: born, to: seen).text
        var images: [[JSONValue.Member]] = []
        var failure: ImageFailure?
        func take(_ image: borrowing Image) throws {
            let data = try JSONValue(parsing: image.payload)
            let tags = viewer.history.shape(of: image.type, at: seen)?.sortedTags(of: image.payload, in: name) ?? []
            images.append(
                [.init(name: "stream", value: .string(name)), .init(name: "type", value: .string(image.type))]
                    + (image.part > 0 ? [.init(name: "part", value: .number("\(image.part)"))] : [])
                    + [.init(name: "data", value: data)]
                    + (tags.isEmpty ? [] : [.init(name: "tags", value: .array(tags.map(JSONValue.string)))]))
        }
        let path = try viewer.path(type: type, born: born, to: seen)
        if path.merges {
            // A single line counts as an append of one event.
            let event = AppendedEvent(type: type, payload: payload, metadata: metadata, time: time, stream: stream.text)
            var broken: (any Error)?
            try viewer.view(appended: [event], born: born, at: seen, failed: { failure = $1 }) { _, image in
                do { try take(image) } catch { broken = error }
            }
            if let broken { throw broken }
        } else {
            let source = SourceEvent(payload: payload.lent, time: time, metadata: metadata.lent)
            try viewer.interpreter.run(path, source, stream: stream.text, validating: true, take)
        }
        if let failure { throw EvstoreError.noImage(failure) }
        return images
    }
}

/// The files that recording fixtures would write, compared with the existing ones.
package struct FixtureFiles: Sendable {
    package struct Change: Hashable, Sendable {
        package let file: String
        package let text: String
        /// The current contents of the file; nil if it is new.
        package let old: String?
        /// Whether the file depends only on released versions, so that it must never change.
        package let isFixed: Bool

        /// Whether the change only appends to the existing contents.
        package var isGrowth: Bool { old.map { text.utf8.starts(with: $0.utf8) } ?? false }

        /// The first line that differs, before and after.
        package var difference: (line: Int, old: String?, new: String?) {
            let (a, b) = (Self.lines(old ?? ""), Self.lines(text))
            let same = zip(a, b).prefix { $0.isSame(as: $1) }.count
            return (same + 1, same < a.count ? a[same] : nil, same < b.count ? b[same] : nil)
        }

        private static func lines(_ text: String) -> [String] {
            text.utf8.split(separator: UInt8(ascii: "\n")).map { String(decoding: $0, as: UTF8.self) }
        }
    }

    /// The files whose contents differ from the expected ones.
    package private(set) var changes: [Change] = []
    package private(set) var unchanged = 0

    package init() {}

    package mutating func add(_ file: String, _ text: String, isFixed: Bool) throws(EvstoreError) {
        var old: String?
        if FileManager.default.fileExists(atPath: file) {
            old = String(decoding: try onFiles("reading \(file)") { try Data(contentsOf: URL(filePath: file)) }, as: UTF8.self)
        }
        if old?.isSame(as: text) == true {
            unchanged += 1
        } else {
            changes.append(Change(file: file, text: text, old: old, isFixed: isFixed))
        }
    }

    package mutating func add(_ renderings: [FixtureRendering], _ history: History) throws(EvstoreError) {
        for rendering in renderings {
            let isFixed = history[rendering.born]?.isReleased == true && history[rendering.seen]?.isReleased == true
            try add(rendering.file, rendering.text, isFixed: isFixed)
        }
    }

    package func write() throws(EvstoreError) {
        for change in changes {
            let folder = change.file.split(separator: "/", omittingEmptySubsequences: false).dropLast().joined(separator: "/")
            try onFiles("writing \(change.file)") {
                try FileManager.default.createDirectory(atPath: folder, withIntermediateDirectories: true)
            }
            try SourceFile.write(Array(change.text.utf8), to: change.file)
        }
    }
}
