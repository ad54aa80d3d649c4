import Bytes
import JSONText

func utf8(_ text: String) -> [UInt8] { Array(text.utf8) }

func text(_ bytes: [UInt8]) -> String { String(decoding: bytes, as: UTF8.self) }

/// What a splice writes of its whole text.
func written(_ splice: borrowing JSONEditor) -> String {
    var output = ByteBuffer()
    splice.write(splice.root, into: &output)
    return text(output.array())
}

func loaded(_ json: String) throws -> JSONEditor {
    var splice = JSONEditor()
    try splice.load(utf8(json).lent)
    return splice
}

func isAccepted(_ bytes: [UInt8], limits: JSONLimits = JSONLimits()) -> Bool {
    do {
        _ = try JSONScanner.validate(bytes.lent, limits: limits)
        return true
    } catch {
        return false
    }
}

/// The error of a refused text; nil if it is accepted.
func refusal(_ json: String, limits: JSONLimits = JSONLimits()) -> JSONError? {
    do throws(JSONError) {
        _ = try JSONScanner.validate(utf8(json).lent, limits: limits)
        return nil
    } catch {
        return error
    }
}

extension RandomNumberGenerator {
    mutating func chance(_ one: Int, in many: Int) -> Bool { Int.random(in: 0 ..< many, using: &self) < one }

    mutating func pick<T>(_ choices: [T]) -> T { choices[Int.random(in: 0 ..< choices.count, using: &self)] }

    /// A random value as text, with spaces and escapes here and there.
    mutating func json(depth: Int) -> String {
        switch Int.random(in: 0 ..< (depth > 0 ? 9 : 6), using: &self) {
        case 0: return pick(["true", "false", "null"])
        case 1, 2: return pick(["0", "-1", "12.50", "1e3", "9007199254740993", "-0.0", "3E-2"])
        case 3, 4, 5: return pick([#""""#, #""plain""#, #""a \"quote\"""#, #""\u00e9\ud83d\ude00""#, #""ключ, 鍵""#, #""\\\/\n""#])
        case 6:
            let elements = (0 ..< Int.random(in: 0 ... 3, using: &self)).map { _ in json(depth: depth - 1) }
            return "[" + space() + elements.joined(separator: space() + "," + space()) + space() + "]"
        default: return object(depth: depth)
        }
    }

    mutating func object(depth: Int) -> String {
        let spellings = [#""a""#, #""b""#, #""\u0063""#, #""longer than eight""#, #""e\/f""#, #""""#]
        let names = spellings.shuffled(using: &self).prefix(Int.random(in: 0 ... 5, using: &self))
        let members = names.map { $0 + space() + ":" + space() + json(depth: depth - 1) }
        return "{" + space() + members.joined(separator: space() + "," + space()) + space() + "}"
    }

    mutating func space() -> String { chance(1, in: 4) ? pick([" ", "\n", "\t ", "\r\n"]) : "" }
}

struct NothingThere: Error { let what: String }

/// What an optional holds. (`#require` and `#expect` take no values that cannot be copied.)
func found<T>(_ value: T?, _ what: String = "") throws -> T {
    guard let value else { throw NothingThere(what: what) }
    return value
}

func node(_ pointer: String, _ splice: inout JSONEditor) throws -> JSONEditor.Node {
    try found(splice.find(JSONPointer(pointer), from: splice.root), pointer)
}

func member(_ name: String, _ splice: inout JSONEditor) -> JSONEditor.Node? { splice.member(MemberName(name), of: splice.root) }
