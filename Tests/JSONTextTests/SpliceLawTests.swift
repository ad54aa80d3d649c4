import Bytes
import JSONText
import TestSupport
import Testing

/// One edit of any document; where its place does not suit it, it does nothing.
struct Edit: CustomStringConvertible {
    enum Action: CaseIterable {
        case set, attachString, replace, makeObject, wrap, head, rename, remove, move, copy
        case renameAllElements
    }

    let action: Action
    let path: JSONPointer
    let other: JSONPointer
    let name: MemberName
    let json: String

    var description: String { "\(action) \(path) \(other) \(name) \(json)" }

    static func random(_ generator: inout some RandomNumberGenerator) -> Edit {
        let names = ["a", "b", "c", "longer than eight", "e/f", "", "new", "qu\"oted"]
        func path(_ generator: inout some RandomNumberGenerator) -> JSONPointer {
            let count = generator.pick([0, 1, 1, 1, 2, 2, 3])
            return JSONPointer(tokens: (0 ..< count).map { _ in MemberName(generator.pick(names)) })
        }
        return Edit(
            action: generator.pick(Action.allCases), path: path(&generator), other: path(&generator),
            name: MemberName(generator.pick(names)), json: generator.space() + generator.json(depth: 2) + generator.space())
    }

    func apply(to splice: inout JSONEditor) {
        guard let node = splice.find(path, from: splice.root) else { return }
        let isRoot = node == splice.root
        let kind = splice.kind(node)
        switch action {
        case .set: if kind == .object { splice.set(name, of: node, to: utf8(json).lent) }
        case .attachString: if kind == .object { splice.attach(splice.make(string: utf8(json).lent), as: name, to: node) }
        case .replace: splice.replace(node, with: utf8(json).lent)
        case .makeObject: if kind == .object { splice.set(name, of: splice.makeObject(name, of: node), to: utf8("1").lent) }
        case .wrap: splice.wrapInArray(node)
        case .head: if kind == .array, let first = splice.firstChild(of: node) { splice.replace(node, withValueOf: first) }
        case .rename: if let parent = splice.parent(of: node), splice.kind(parent) == .object { splice.rename(node, to: name) }
        case .remove: splice.detach(node)
        case .move, .copy:
            guard let target = splice.find(other, from: splice.root), splice.kind(target) == .object else { return }
            if action == .copy { return splice.attach(splice.copy(node), as: name, to: target) }
            guard !isRoot, !other.hasPrefix(path) else { return }
            splice.detach(node)
            splice.attach(node, as: name, to: target)
        case .renameAllElements:
            var child = splice.firstChild(of: node)
            while let element = child {
                if let member = splice.firstChild(of: element), splice.kind(element) == .object { splice.rename(member, to: name) }
                child = splice.next(after: element)
            }
        }
    }
}

@Suite struct SpliceLawTests {
    @Test("edits made one after the other on one load give the bytes that they give with a write and a load between them")
    func fusingEqualsStepping() throws {
        let seed = UInt64.random(in: 0 ... .max)
        var generator = SeededGenerator(seed: seed)
        var fused = JSONEditor()
        var stepped = JSONEditor()
        var effective = 0
        for round in 0 ..< 2_000 {
            let document = utf8(generator.object(depth: 4))
            try fused.load(document.lent)
            var step = document
            for number in 0 ..< 8 {
                let edit = Edit.random(&generator)
                edit.apply(to: &fused)
                try stepped.load(step.lent)
                edit.apply(to: &stepped)
                let before = step
                step = utf8(written(stepped))
                effective += before == step ? 0 : 1
                let comment = "seed \(seed), round \(round), edit \(number): \(edit) on \(text(before))"
                let whole = written(fused)
                #expect(whole == text(step), Comment(rawValue: comment))
                #expect(refusal(text(step)) == nil, Comment(rawValue: comment))
            }
            if let fault = fused.fault ?? stepped.fault { throw fault }
        }
        #expect(effective > 2_500)
    }
}
