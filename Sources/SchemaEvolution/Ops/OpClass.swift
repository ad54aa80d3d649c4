/// What an op may lose or refuse. The class of a step is the union of its ops' classes.
package struct OpClass: OptionSet, Hashable, Sendable, CustomStringConvertible {
    package let rawValue: UInt8

    package init(rawValue: UInt8) { self.rawValue = rawValue }

    /// Nothing is lost in either direction.
    package static let iso: OpClass = []
    /// Something may be lost on the way down.
    package static let widen = OpClass(rawValue: 1)
    /// Something may be lost on the way up.
    package static let narrow = OpClass(rawValue: 2)
    /// An event may lack an image or change in a round trip; only the data can prove otherwise.
    package static let partial = OpClass(rawValue: 4)
    /// The step has no downcast.
    package static let oneWay = OpClass(rawValue: 8)

    package var description: String {
        let names = [(OpClass.widen, "widen"), (.narrow, "narrow"), (.partial, "partial"), (.oneWay, "one-way")]
            .filter { contains($0.0) }.map(\.1)
        return names.isEmpty ? "iso" : names.joined(separator: ", ")
    }
}
