package import EventModel
internal import JSONText
package import SchemaEvolution

extension DefinitionSet {
    /// Reports row keys that contain personal data (PERS401), since keys are never sealed. One finding for each type, at the first version
    /// that shows it.
    package func exposedKeys(_ history: History) -> [Finding] {
        var findings: [Finding] = []
        for name in names {
            let list = entries[name, default: []]
            for (index, entry) in list.enumerated() {
                guard case .declared(let projection) = entry else { continue }
                let end = index + 1 < list.count ? min(list[index + 1].since.previous, history.head) : history.head
                findings += projection.exposedKeys(through: end, history)
            }
        }
        return findings
    }
}

extension DeclaredProjection {
    fileprivate func exposedKeys(through end: SchemaVersion, _ history: History) -> [Finding] {
        guard since <= end else { return [] }
        return on.sorted { $0.key < $1.key }.compactMap { type, folds in
            for number in since.number ... end.number {
                guard let shape = history.shape(of: type.text, at: SchemaVersion(number))?.shape else { continue }
                let key = key(of: type)
                guard let pointer = key.source.personal(in: shape, each: folds.first?.each) else { continue }
                return Finding(
                    id: Rule.exposed, severity: .warning, file: key.mark.file, line: key.mark.line, column: key.mark.column,
                    message: "\(name): \(pointer) of \(type) is personal and is the key of a row, which everybody can read",
                    fix: Rule.personsFix)
            }
            return nil
        }
    }
}

extension Source {
    /// The first pointer in the source that leads to personal data.
    fileprivate func personal(in shape: Shape, each: JSONPointer?) -> JSONPointer? {
        switch self {
        case .pointer(let pointer): return shape.isPersonal(at: pointer) ? pointer : nil
        case .item(let pointer):
            guard let each, let items = shape.shape(at: each)?.items else { return nil }
            return shape.isPersonal(at: each) || items.isPersonal(at: pointer) ? each : nil
        case .day(let source), .month(let source): return source.personal(in: shape, each: each)
        case .template(let template):
            for source in template.members {
                if let pointer = source.personal(in: shape, each: each) { return pointer }
            }
            return nil
        default: return nil
        }
    }
}
