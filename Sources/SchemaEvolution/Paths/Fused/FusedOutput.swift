internal import JSONText

/// Collects what the branches of a program write.
struct FusedOutput {
    private(set) var pieces: [FusedPiece] = []
    private(set) var actions: [FusedAction] = []
    private(set) var values: [FusedValue] = []
    private(set) var constants: [UInt8] = []

    /// The consecutive pieces that make up a value.
    mutating func write(_ node: Int, of draft: SymbolicDocument) -> Range<Int> {
        var made: [FusedPiece] = []
        add(node, of: draft, to: &made)
        return place(made)
    }

    /// Adds the requested values; nil stands for an absent one. Returns the index of the first.
    mutating func write(values nodes: [Int?], of draft: SymbolicDocument) -> Int {
        for node in nodes {
            var value = FusedValue()
            if let node {
                switch draft.nodes[node].value {
                case .input(let slot), .made(let slot, _): value.slot = Int32(slot)
                case .text(let slot): (value.slot, value.isBare) = (Int32(slot), true)
                default:
                    let range = write(node, of: draft)
                    (value.pieces, value.count) = (Int32(range.lowerBound), Int32(range.count))
                }
            }
            values.append(value)
        }
        return values.count - nodes.count
    }

    /// Whether any branch writes the value in a slot of the input, alone or with the object that has it.
    func writes(_ slot: Int, of objects: [FusedObject]) -> Bool {
        values.contains { Int($0.slot) == slot }
            || pieces.contains { piece in
                switch piece.kind {
                case .constant: false
                case .slot, .quoted: Int(piece.a) == slot
                case .members, .membersBeforeComma:
                    (objects[Int(piece.a)].base ..< objects[Int(piece.a)].base + objects[Int(piece.a)].members.count).contains(slot)
                }
            }
    }

    private mutating func place(_ made: [FusedPiece]) -> Range<Int> {
        let first = pieces.count
        pieces += made
        return first ..< pieces.count
    }

    private mutating func add(_ node: Int, of draft: SymbolicDocument, to made: inout [FusedPiece]) {
        switch draft.nodes[node].value {
        case .input(let slot), .made(let slot, _): made.append(FusedPiece(kind: .slot, a: Int32(slot)))
        case .text(let slot): made.append(FusedPiece(kind: .quoted, a: Int32(slot)))
        case .constant(let json): add(json, to: &made)
        case .list(let element):
            add([UInt8(ascii: "[")], to: &made)
            add(element, of: draft, to: &made)
            add([UInt8(ascii: "]")], to: &made)
        case .object(let children, let object): add(children, object, of: draft, to: &made)
        case .each: preconditionFailure("what is done to elements is settled before an image is written")
        }
    }

    private mutating func add(_ children: [Int], _ object: Int?, of draft: SymbolicDocument, to made: inout [FusedPiece]) {
        let others = children.filter { !draft.nodes[$0].isInPlace }
        add([UInt8(ascii: "{")], to: &made)
        if let object {
            let first = inPlace(children, draft.layout.objects[object], of: draft)
            made.append(FusedPiece(kind: others.isEmpty ? .members : .membersBeforeComma, a: Int32(object), b: Int32(first)))
        }
        for (index, child) in others.enumerated() {
            if index > 0 || object != nil { add([UInt8(ascii: ",")], to: &made) }
            addMember(child, of: draft, to: &made)
        }
        add([UInt8(ascii: "}")], to: &made)
    }

    /// Adds the actions for the members that keep their position. Returns the index of the first action.
    private mutating func inPlace(_ children: [Int], _ object: FusedObject, of draft: SymbolicDocument) -> Int {
        var row = [FusedAction](repeating: .leaveOut, count: object.members.count)
        for child in children where draft.nodes[child].isInPlace {
            let node = draft.nodes[child]
            guard let slot = node.slot else { continue }
            if !node.isRenamed, case .input(slot) = node.value {
                row[slot - object.base] = .keep
            } else {
                var made: [FusedPiece] = []
                addMember(child, of: draft, to: &made)
                let range = place(made)
                row[slot - object.base] = FusedAction(count: Int32(range.count), pieces: Int32(range.lowerBound))
            }
        }
        let first = actions.count
        actions += row
        return first
    }

    private mutating func addMember(_ node: Int, of draft: SymbolicDocument, to made: inout [FusedPiece]) {
        add((draft.nodes[node].name?.quoted ?? []) + [UInt8(ascii: ":")], to: &made)
        add(node, of: draft, to: &made)
    }

    /// Merges adjacent constants into one piece.
    private mutating func add(_ text: [UInt8], to made: inout [FusedPiece]) {
        if let last = made.last, last.kind == .constant, Int(last.a + last.b) == constants.count {
            made[made.count - 1].b += Int32(text.count)
        } else {
            made.append(FusedPiece(kind: .constant, a: Int32(constants.count), b: Int32(text.count)))
        }
        constants += text
    }
}
