import Bytes
import Foundation
import JSONText

extension FuzzTarget {
    private static let documents = [
        #"{"a":{"c":{"d":[1,-0.5e+10,true,null]}},"b":"\u00e9\ud83d\ude00 \"q\"","n":12345678901234567890,"e/f":[]}"#,
        #" [ {"a" : 1} , {"a" : 1.50} , [ ] , "" ] "#, #"{"a":{},"new":{"longer than eight":false},"":0}"#,
    ].map { Array($0.utf8) }

    /// What the scanner takes is walked over to its end, can be read as a tree, whose text reads as the same tree; it has one canonical form; and an unchanged
    /// splice writes a text that means the same.
    static let json = FuzzTarget(
        name: "json", seeds: { documents },
        take: { bytes in
            // Any text ends a walk; of a sound one the walker finds the end.
            var walk = JSONWalker(bytes.lent)
            walk.skipSpaces()
            let extent = walk.skipValue()
            walk.skipSpaces()
            let isWhole = walk.offset == bytes.count
            _ = try JSONScanner.validate(bytes.lent)
            try hold(isWhole, "a walk over a sound text ends elsewhere")
            try hold(JSONKind(firstByte: bytes[extent.start]) == extent.kind, "a walk finds another kind of value")
            let value: JSONValue
            do { value = try JSONValue(parsing: bytes.lent) } catch { throw Broken(description: "a sound text is no tree: \(error)") }
            let again = try JSONValue(parsing: Array(value.text.utf8).lent)
            try hold(again == value, "a tree's text is another tree")
            // What has no canonical form, such as a number beyond all doubles, is refused there alone.
            let canonical = try Canonical.bytes(of: bytes.lent)
            try hold(try Canonical.bytes(of: canonical.lent) == canonical, "a canonical form has another one")
            var splice = JSONEditor()
            try splice.load(bytes.lent)
            try hold(splice.fault == nil, "a sound text has a fault")
            let written = try Canonical.bytes(of: text(splice).lent)
            try hold(written == canonical, "a splice that nobody has changed writes another text")
        })

    /// Edits of any text, sound or not, end; and those of a sound one leave a sound one. The first bytes choose them.
    static let splice = FuzzTarget(
        name: "splice", seeds: { documents.map { [3, 5, 7, 11, 13, 1, 4, 9] + $0 } },
        take: { bytes in
            guard bytes.count > 8 else { return }
            let document = Array(bytes[8...])
            let isSound: Bool
            do {
                // An edit puts a text one level deeper, and two steps at most do.
                _ = try JSONScanner.validate(document.lent, limits: JSONLimits(depth: 48))
                isSound = true
            } catch { isSound = false }
            var splice = JSONEditor()
            try splice.load(document.lent)
            for choice in bytes[..<8] { edit(&splice, Int(choice)) }
            let after = text(splice)
            guard isSound else { return }
            try hold(splice.fault == nil, "an edit of a sound text has a fault")
            do { _ = try JSONScanner.validate(after.lent) } catch {
                throw Broken(description: "an edited text is none: \(error): \(String(decoding: after, as: UTF8.self))")
            }
        })

    private static func text(_ splice: borrowing JSONEditor) -> [UInt8] {
        var output = ByteBuffer()
        splice.write(splice.root, into: &output)
        return output.array()
    }

    private static func edit(_ splice: inout JSONEditor, _ choice: Int) {
        let names = ["a", "b", "c", "new"].map { MemberName($0) }
        let (name, other) = (names[choice % 4], names[choice / 4 % 4])
        guard let node = splice.member(name, of: splice.root) ?? splice.firstChild(of: splice.root) else {
            if splice.kind(splice.root) == .object { _ = splice.set(other, of: splice.root, to: Array("[1]".utf8).lent) }
            return
        }
        let isInObject = splice.kind(splice.root) == .object
        switch choice / 16 % 8 {
        case 0: splice.replace(node, with: Array(#"{"a":1}"#.utf8).lent)
        case 1: if isInObject { splice.attach(splice.make(string: Array("q\"\n".utf8).lent), as: other, to: splice.root) }
        case 2: if isInObject { splice.rename(node, to: other) }
        case 3: splice.wrapInArray(node)
        case 4: if isInObject { splice.attach(splice.copy(node), as: other, to: splice.root) }
        case 5: if splice.kind(node) == .array, let element = splice.firstChild(of: node) { splice.replace(node, withValueOf: element) }
        case 6: if isInObject { _ = splice.makeObject(other, of: splice.root) }
        default: splice.detach(node)
        }
    }
}
