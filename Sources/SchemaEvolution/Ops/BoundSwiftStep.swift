internal import Bytes
internal import EventModel
internal import JSONText

/// A Swift step that is bound to two shapes. It fails at run time if the program does not contain the step.
final class BoundSwiftStep: BoundOp {
    /// A member that the step writes, with its location in each shape that has it.
    private struct WrittenMember: Sendable {
        let pointer: JSONPointer
        let before, after: MemberLocation?
    }

    /// The name of the step for errors.
    let words: String
    /// A description of what the program lacks; nil if it can run the step.
    let missing: String?
    private let op: SwiftOp
    private let type: String
    private let visibleBelow: [JSONPointer]
    private let written: [WrittenMember]
    private let step: (any SwiftStep)?

    /// - Parameters:
    ///   - before: the shape before the step.
    ///   - site: holds the shape after the step.
    init(_ op: SwiftOp, _ step: (any SwiftStep)?, from before: Shape, at site: BindingContext) {
        let after = site.shape
        (self.op, type) = (op, site.type)
        let words = op.words(site.version)
        self.words = words
        visibleBelow = op.writes + op.reads.filter { read in !op.writes.contains { read.hasPrefix($0) } }
        written = op.writes.map { pointer in
            WrittenMember(
                pointer: pointer,
                before: before.shape(at: pointer) == nil ? nil : MemberLocation(pointer, here: before, there: after),
                after: after.shape(at: pointer) == nil ? nil : MemberLocation(pointer, here: after, there: before))
        }
        switch step {
        case nil: missing = words
        case let step? where step.revision != op.revision:
            missing = "\(words), of which this program has revision \(step.revision),"
        default: missing = nil
        }
        self.step = step
    }

    /// Whether events born at or above the step keep a shadow for the versions below.
    var keepsShadow: Bool { op.down == .shadow }

    func run(_ doc: inout EventDocument, at object: JSONEditor.Node, _ direction: Direction) throws(OpStop) {
        switch direction {
        case .up:
            let step = try runnable()
            try copy(op.reads, from: &doc.splice, at: object, &doc.run)
            do { try step.up(&doc.run.members) } catch { throw stop(error) }
        case .down:
            if op.down == .oneWay {
                throw .failed(
                    pointer: "", expected: "born below the one-way step \(op.id), while the floor is below it", found: "born above it")
            }
            guard let step = try runnable() as? any ReversibleSwiftStep else {
                throw .failed(pointer: "", expected: "a step \(op.id) that leads down", found: "one that leads up only")
            }
            try copy(visibleBelow, from: &doc.splice, at: object, &doc.run)
            do { try step.down(&doc.run.members) } catch { throw stop(error) }
        }
        try take(direction, into: &doc, at: object)
    }

    private func runnable() throws(OpStop) -> any SwiftStep {
        if let missing { throw .programNeeded(missing) }
        guard let step else { throw .programNeeded("the step \(op.id)") }
        return step
    }

    private func copy(_ visible: [JSONPointer], from doc: inout JSONEditor, at object: JSONEditor.Node, _ run: inout OpRun) throws(OpStop) {
        do { try run.members.begin(type, reads: visible, writes: op.writes) } catch { throw stop(error) }
        for pointer in visible {
            guard let node = doc.find(pointer, from: object) else { continue }
            run.members.copy(node, of: doc, at: pointer)
        }
    }

    /// Copies the members that the step may write back into the document.
    private func take(_ direction: Direction, into doc: inout EventDocument, at object: JSONEditor.Node) throws(OpStop) {
        let root = doc.run.members.doc.root
        if doc.run.members.isReplaced { try check(root, JSONPointer(), &doc.splice, at: object, &doc.run) }
        for member in written {
            let (source, target) = direction == .up ? (member.before, member.after) : (member.after, member.before)
            guard let target else {
                source?.remove(from: &doc, at: object)
                continue
            }
            let value = doc.run.members.doc.find(member.pointer, from: root)
            let holder = target.holder(in: &doc, at: object, forValue: value != nil)
            if let value {
                guard let holder else {
                    throw .failed(
                        pointer: member.pointer.description, expected: "an object to hold what the step \(op.id) writes", found: "none")
                }
                let made = doc.take(member: value)
                doc.set(target.name, of: holder, toValueOf: made)
            } else if let old = target.find(in: &doc, at: object) {
                doc.detach(old)
            }
        }
        if let fault = doc.run.members.doc.fault { throw stop(fault) }
    }

    /// Refuses a change to a member that the step does not declare to write.
    private func check(
        _ node: JSONEditor.Node, _ pointer: JSONPointer, _ doc: inout JSONEditor, at object: JSONEditor.Node, _ run: inout OpRun
    ) throws(OpStop) {
        if op.writes.contains(where: { pointer.hasPrefix($0) }) { return }
        if op.writes.contains(where: { $0.hasPrefix(pointer) }), run.members.doc.kind(node) == .object {
            var child = run.members.doc.firstChild(of: node)
            while let next = child {
                try check(next, pointer.appending(run.members.doc.name(of: next)), &doc, at: object, &run)
                child = run.members.doc.next(after: next)
            }
            return
        }
        run.output.removeAll()
        run.members.doc.write(node, into: &run.output)
        let made: [UInt8]
        do { made = try Canonical.bytes(of: run.output.bytes) } catch { throw stop(error) }
        guard let old = doc.find(pointer, from: object), doc.equals(old, made.lent) else {
            throw .failed(
                pointer: pointer.description, expected: "as it was: the step \(op.id) does not declare to write it",
                found: run.members.doc.words(node))
        }
    }

    private func stop(_ error: any Error) -> OpStop {
        if let failure = error as? StepFailure {
            return .failed(pointer: failure.pointer, expected: failure.expected, found: failure.found)
        }
        return .failed(pointer: "", expected: "a payload that the step \(op.id) takes", found: "\(error)")
    }
}
