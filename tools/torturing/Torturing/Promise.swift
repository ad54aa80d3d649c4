internal import Foundation

/// An append that has returned: `count` events with the numbers from `mark` on, at `position` and after it.
package struct Promise: Hashable, Sendable {
    package let position: Int
    package let mark: Int
    package let count: Int

    package init(_ line: some StringProtocol) throws {
        let words = line.split(separator: " ").compactMap { Int($0) }
        guard words.count == 3 else { throw Failure("\(line) is no promise") }
        (position, mark, count) = (words[0], words[1], words[2])
    }

    /// Those in a file, a line each, among which refusals may stand.
    package static func all(_ file: String) throws -> [Promise] {
        try all(in: String(contentsOfFile: file, encoding: .utf8))
    }

    /// Those in a text of such lines; the last line counts once its end is there.
    package static func all(in text: String) throws -> [Promise] {
        try text.split(separator: "\n", omittingEmptySubsequences: false).dropLast()
            .filter { !$0.isEmpty && !Refusal.isOne($0) }.map { try Promise($0) }
    }

    /// What a log that holds events with these numbers, in this order, has not kept: every promised event lies where it was
    /// promised, and appends are whole and there once.
    package static func broken(_ promises: [Promise], by numbers: [Int]) -> [String] {
        var broken: [String] = []
        if Set(numbers).count != numbers.count { broken.append("an event is there twice") }
        for promise in promises {
            let place = promise.position - 1 ..< promise.position - 1 + promise.count
            if place.upperBound <= numbers.count, place.enumerated().allSatisfy({ numbers[$1] == promise.mark + $0 }) { continue }
            broken.append("the append of \(promise.mark) was promised at \(promise.position)")
        }
        for (index, number) in numbers.enumerated() where number % 10 > 0 {
            if index > 0, numbers[index - 1] == number - 1 { continue }
            broken.append("the append of \(number) is there in part")
        }
        return broken
    }
}

/// An append that was refused: whoever made it was told that none of its events, with the numbers from `mark` on, is there.
package struct Refusal: Hashable, Sendable {
    package let mark: Int
    /// The error's own name.
    package let code: String

    private static let word = "refused"

    package init(mark: Int, code: String) { (self.mark, self.code) = (mark, code) }

    package static func isOne(_ line: some StringProtocol) -> Bool { line.hasPrefix(word + " ") }

    package var line: String { "\(Self.word) \(mark) \(code)\n" }

    /// Those in a file of promises.
    package static func all(_ file: String) throws -> [Refusal] {
        try String(contentsOfFile: file, encoding: .utf8).split(separator: "\n").filter(isOne).map { line in
            let words = line.split(separator: " ")
            guard words.count == 3, let mark = Int(words[1]) else { throw Failure("\(line) is no refusal") }
            return Refusal(mark: mark, code: String(words[2]))
        }
    }

    /// What a log that holds events with these numbers shows to be untrue.
    package static func broken(_ refusals: [Refusal], by numbers: [Int]) -> [String] {
        let held = Set(numbers)
        return refusals.filter { held.contains($0.mark) }.map { "the append of \($0.mark) was refused (\($0.code)) and is there" }
    }
}
