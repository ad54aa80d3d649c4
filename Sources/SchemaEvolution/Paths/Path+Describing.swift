internal import EventModel

extension Path {
    /// A short description of what the path does: `move x2, split /customer`, `renamed to X`, `unchanged`.
    package var description: String {
        let words = (merges ? ["merged with others of its append"] : []) + root.words(startingAs: type) + rekeys
        return words.isEmpty ? "unchanged" : words.joined(separator: ", ")
    }

    /// The blocks that events may hit; empty if every event has an image or is hidden by declaration.
    package var blocks: [(mark: FileLocation?, why: String)] {
        var found: [(mark: FileLocation?, why: String)] = []
        root.visit { segment in
            for op in segment.ops where op.blocks && op.direction == .down { found.append((op.mark, "\(op.label) blocks some of them")) }
            if case .blocked(let block) = segment.next { found.append((block.mark, block.why)) }
        }
        return found
    }
}

extension PathSegment {
    fileprivate func words(startingAs type: String) -> [String] {
        var verbs: [(words: String, count: Int, isPlain: Bool)] = []
        for summary in ops.compactMap(\.summary) where summary.verb != Allow.name {
            let words = [summary.verb, summary.object].compactMap(\.self).joined(separator: " ")
            if let index = verbs.firstIndex(where: { $0.words == words }) {
                verbs[index].count += 1
            } else {
                verbs.append((words, 1, summary.object == nil))
            }
        }
        let done = verbs.map { $0.count > 1 ? "\($0.words) x\($0.count)" : $0.words }
        switch next {
        case .end(let end): return end.type.isSame(as: type) ? done : ["renamed to \(end.type)"] + done
        case .dispatch(let dispatch):
            let types = dispatch.branches.flatMap { $0.segment.ends }
            return done + ["by \(dispatch.by) into \(types.joined(separator: " + "))"]
        case .fan(let fan): return done + ["split into \(fan.parts.flatMap { $0.segment.ends }.joined(separator: " + "))"]
        case .adoption(let adoption):
            return done + ["adopted as \(adoption.branches.flatMap { $0.segment.ends }.joined(separator: " or "))"]
        case .junction(let junction, _): return junction.joined.words(startingAs: type) + done + ["joined with the other parts"]
        case .hidden(_, let why): return done + ["hidden (\(why))"]
        case .dropped(_, let because): return done + ["dropped (\(because))"]
        case .blocked(let block): return done + ["blocked (\(block.why))"]
        }
    }

    private var ends: [String] {
        var found: [String] = []
        visit { segment in
            if case .end(let end) = segment.next, !found.contains(end.type) { found.append(end.type) }
        }
        return found
    }
}
