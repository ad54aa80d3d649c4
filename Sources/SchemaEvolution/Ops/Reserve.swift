internal import JSONText

/// `reserve [names]`: names that must never be used again.
struct Reserve: Op {
    static let name = "reserve"

    /// A bare name denotes a member of the payload.
    let members: [JSONPointer]

    init(_ arguments: FileNode) throws(FileProblem) {
        var members: [JSONPointer] = []
        for name in try arguments.texts("reserve") {
            do { members.append(try JSONPointer(name.hasPrefix("/") ? name : "/" + name)) } catch {
                throw arguments.problem("\(name) is not a member: \(error.reason)", rule: Rule.opArgument)
            }
        }
        guard !members.isEmpty else { throw arguments.problem("reserve names nothing", rule: Rule.opArgument) }
        self.members = members
    }

    var writes: [JSONPointer] { [] }

    func effects(_ direction: Direction, in holder: JSONPointer) -> [OpEffect] { [] }

    func bind(_ site: inout BindingContext) -> (any BoundOp)? { nil }
}
