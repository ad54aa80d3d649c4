internal import Bytes
internal import EventModel
internal import JSONText
internal import SchemaEvolution

/// What is broken in a case.
package enum Kind: String, CaseIterable, Sendable {
    case version, projections, lock, payload, lines, append
}

/// One broken input, the same for the same seed and index.
package struct Case: Sendable {
    package let kind: Kind
    let seed: Seed
    /// The file or event line that it was made of, and its version where it has one.
    package let file: String
    let version: SchemaVersion?
    let type: String
    package let text: [UInt8]
    /// For the choices that trying it takes.
    let random: SeededRandom

    package init(_ seeds: Seeds, seed: UInt64, index: UInt64) {
        var mutator = Mutator(seeds, seed: seed ^ (index &+ 1) &* 0x9e37_79b9_7f4a_7c15)
        self.seed = mutator.random.pick(seeds.all)
        switch mutator.number(0 ... 99) {
        case 0 ..< 34:
            kind = .version
            let number = mutator.number(1 ... self.seed.versions.count)
            (version, type) = (SchemaVersion(number), "")
            (file, text) = mutator.file("v\(number)", self.seed.versions[number - 1])
        case 34 ..< 50:
            (kind, version, type) = (.projections, nil, "")
            (file, text) = mutator.file("projections", self.seed.projections)
        case 50 ..< 52:
            (kind, version, type, file) = (.lock, nil, "", SchemaLock.fileName)
            text = mutator.bytes(self.seed.lock)
        case let choice:
            let line = mutator.random.pick(self.seed.lines)
            (kind, version, type) = (choice < 97 ? .payload : choice < 99 ? .append : .lines, line.version, line.type)
            file = "an event of \(line.version)"
            text =
                kind == .lines
                ? mutator.lines(self.seed.lines.filter { $0.version == line.version }) : mutator.payload(line, self.seed.generator)
        }
        random = mutator.random
    }
}

extension Mutator {
    /// A file's text with bytes changed, or its tree with nodes changed, as YAML or as JSON.
    fileprivate mutating func file(_ stem: String, _ text: [UInt8]) -> (file: String, text: [UInt8]) {
        if random.once(in: 2) { return (stem + ".yaml", bytes(text)) }
        let tree: JSONValue
        do { tree = self.tree(try FileReader.read(text: text, file: stem + ".yaml").json) } catch { return (stem + ".yaml", text) }
        if random.once(in: 2) { return (stem + ".yaml", Array(tree.yaml.utf8)) }
        let json = Array(tree.text.utf8)
        return (stem + ".json", random.once(in: 4) ? bytes(json) : json)
    }

    /// A payload with bytes or nodes changed, or one made from the shape of its type.
    fileprivate mutating func payload(_ line: Seed.Line, _ generator: EventGenerator) -> [UInt8] {
        var payload = line.payload
        if random.once(in: 2) {
            var generator = generator
            generator.restart(seed: random.next())
            payload = generator.event(type: line.type, born: line.version)?.payload ?? payload
            if random.once(in: 2) { return payload }
        }
        if random.once(in: 3) { return bytes(payload) }
        do { return Array(tree(try JSONValue(parsing: payload.lent)).text.utf8) } catch { return bytes(payload) }
    }

    /// Event lines, some of them changed.
    fileprivate mutating func lines(_ lines: [Seed.Line]) -> [UInt8] {
        var all: [UInt8] = []
        for line in lines.shuffled(using: &random) {
            all += random.once(in: 3) ? bytes(line.text) : line.text
            if !random.once(in: 50) { all.append(UInt8(ascii: "\n")) }
        }
        return all
    }
}
