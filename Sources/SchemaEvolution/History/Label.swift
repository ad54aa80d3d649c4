/// The dotted number of an application's release: 1.10 is above 1.9, and 1.2 is 1.2.0.
package struct Label: Comparable, Sendable, CustomStringConvertible {
    package let numbers: [UInt64]

    /// Nil unless the text is one or more decimal numbers with dots between them.
    package init?(_ text: String) {
        var numbers: [UInt64] = []
        for part in text.split(separator: ".", omittingEmptySubsequences: false) {
            guard part.utf8.count <= 18, !part.isEmpty, part.utf8.allSatisfy({ (48 ... 57).contains($0) }), let number = UInt64(part)
            else { return nil }
            numbers.append(number)
        }
        self.numbers = numbers
    }

    package var description: String { numbers.map(String.init).joined(separator: ".") }

    package static func == (a: Label, b: Label) -> Bool { !(a < b) && !(b < a) }

    package static func < (a: Label, b: Label) -> Bool {
        for index in 0 ..< max(a.numbers.count, b.numbers.count) {
            let (left, right) = (index < a.numbers.count ? a.numbers[index] : 0, index < b.numbers.count ? b.numbers[index] : 0)
            if left != right { return left < right }
        }
        return false
    }
}
