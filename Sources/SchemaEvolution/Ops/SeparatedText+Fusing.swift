internal import JSONText

/// Both directions on a draft, which is given up where the op may refuse the event.
extension SeparatedText {
    func split(_ draft: inout FusedDraft) {
        let root = draft.root
        guard let node = whole.find(in: &draft, at: root) else {
            whole.prune(in: &draft, at: root, taken: false)
            for part in parts { _ = part.holder(in: &draft, at: root, forValue: false) }
            return
        }
        switch draft.kind(node) {
        case .null:
            let null = whole.take(from: &draft, at: root)
            parts[0].put(null, into: &draft, at: root)
        case .string:
            let made = draft.split(node, self)
            draft.detach(node)
            whole.prune(in: &draft, at: root, taken: true)
            for (index, part) in parts.enumerated() {
                let holder = part.holder(in: &draft, at: root, forValue: index < made.count)
                if index < made.count, let holder { draft.set(part.name, of: holder, toValueOf: made[index]) }
            }
        case .object, .array, .number, .true, .false: draft.giveUp()
        }
    }

    func join(_ draft: inout FusedDraft) {
        let root = draft.root
        var texts: [FusedDraft.Part] = []
        for (index, part) in parts.enumerated() {
            guard let node = part.find(in: &draft, at: root) else {
                guard index == 0 else { continue }
                for other in parts.dropFirst() where other.find(in: &draft, at: root) != nil { return draft.giveUp() }
                break
            }
            let kind = draft.kind(node)
            if index == 0, kind == .null {
                let null = part.take(from: &draft, at: root)
                for other in parts.dropFirst() where other.take(from: &draft, at: root) != nil { draft.lose() }
                return whole.put(null, into: &draft, at: root)
            }
            guard kind == .string else { return draft.giveUp() }
            if !texts.isEmpty { texts.append(.literal(splitter.separator)) }
            texts.append(.text(node))
        }
        let made = texts.isEmpty ? nil : draft.concatenate(texts)
        for part in parts { _ = part.take(from: &draft, at: root) }
        guard let holder = whole.holder(in: &draft, at: root, forValue: made != nil), let made else { return }
        draft.set(whole.name, of: holder, toValueOf: made)
    }
}
