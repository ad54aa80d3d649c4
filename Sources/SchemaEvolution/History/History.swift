package import EventModel
package import Hashing
package import JSONText

/// All schema versions, 1 … head without gaps; immutable and cheap to copy.
package struct History: Sendable {
    /// Version n is at index n - 1.
    package let versions: [VersionFile]
    /// Findings that are not errors, such as a missing lock.
    package let warnings: [Finding]
    /// SHA-256 over the numbers and digests of all versions.
    package let digest: Digest
    /// The program's code for `swift` ops.
    let swiftSteps: SwiftSteps
    let chain: StepChain

    package static let empty = History(versions: [], warnings: [])

    /// - Precondition: the versions are 1 … n, in order.
    init(
        versions: [VersionFile], warnings: [Finding], swiftSteps: SwiftSteps = .none, steps: [CompiledStep]? = nil, reportsAll: Bool = false
    ) {
        (self.versions, self.warnings, self.swiftSteps) = (versions, warnings, swiftSteps)
        chain = StepChain(versions, swiftSteps, steps: steps, isWhole: reportsAll)
        var hasher = SHA256Hasher()
        for version in versions {
            hasher.update(UInt64(version.number.rawValue))
            hasher.update(version.digest.bytes)
        }
        digest = hasher.finalize()
    }

    /// The newest version; 0 if there is none.
    package var head: SchemaVersion { SchemaVersion(versions.count) }

    package var isEmpty: Bool { versions.isEmpty }

    /// The version file for a number; nil for 0 and above the head.
    package subscript(_ version: SchemaVersion) -> VersionFile? {
        version.number >= 1 && version <= head ? versions[version.number - 1] : nil
    }

    /// The names of the types at a version, in the order of its file; empty for 0 and above the head.
    package func types(at version: SchemaVersion) -> [String] { self[version]?.types ?? [] }

    package func shape(of type: String, at version: SchemaVersion) -> EventShape? { self[version]?.events[type] }

    /// The shape of a type. Throws an error that lists the existing types if there is none.
    package func requireShape(of type: String, at version: SchemaVersion) throws(EvstoreError) -> EventShape {
        guard let file = self[version] else { throw unknown(version.description) }
        guard let shape = file.events[type] else { throw .unknownType(type, version: version, known: file.types) }
        return shape
    }

    /// The history as it was when `version` was the newest version.
    package func through(_ version: SchemaVersion) -> History {
        History(versions: Array(versions.prefix(version.number)), warnings: warnings, swiftSteps: swiftSteps)
    }
}

/// A version in the form that a store keeps.
package struct StoredVersion: Hashable, Sendable {
    package let number: SchemaVersion
    package let canonical: [UInt8]

    package init(number: SchemaVersion, canonical: [UInt8]) { (self.number, self.canonical) = (number, canonical) }
}

extension History {
    /// The version denoted by `v5`, `5` or the label `1.2.0`. An unlisted label resolves to the greatest listed label below it, unless it
    /// is above all of them: such a release is newer than these schemas.
    /// - Throws: `unknownVersion`, with all versions and their labels.
    package func resolve(_ text: String) throws(EvstoreError) -> SchemaVersion {
        let bare = text.hasPrefix("v") ? String(text.dropFirst()) : text
        guard let asked = DottedNumber(bare) else { throw unknown(text) }
        guard bare.contains(".") else {
            guard let number = Int(bare), number <= head.number else { throw unknown(text) }
            return SchemaVersion(number)
        }
        var best: (label: DottedNumber, version: SchemaVersion)?
        var newest: DottedNumber?
        for file in versions {
            for label in file.labels.compactMap(DottedNumber.init) {
                newest = max(newest ?? label, label)
                if label <= asked, best.map({ $0.label < label }) ?? true { best = (label, file.number) }
            }
        }
        guard let newest else { throw unknown(text) }
        guard asked <= newest else { throw unknown(text, hint: "\(bare) is newer than \(newest), the newest label known: upgrade") }
        guard let best else { throw unknown(text, hint: "\(bare) is older than every label") }
        return best.version
    }

    package func unknown(_ text: String, hint: String? = nil) -> EvstoreError {
        let known = versions.map { file in
            file.labels.isEmpty ? file.number.description : "\(file.number) (\(file.labels.joined(separator: ", ")))"
        }
        return .unknownVersion(text, known: known + (hint.map { [$0] } ?? []))
    }

    /// The advice for a type that a version does not have: the versions that have it, and its names at this version.
    package func advice(onMissing type: String, at version: SchemaVersion) -> Advice {
        let holders = versions.filter { $0.events[type] != nil }.map(\.number)
        guard let first = holders.first, let last = holders.last else {
            let known = types(at: version)
            let all = Set(versions.flatMap(\.types)).sorted()
            if let meant = nearest(to: type, among: known) ?? nearest(to: type, among: all) { return "did you mean \(meant)?" }
            return "the types of \(version) are: \(known.joined(separator: ", "))"
        }
        let range = first == last ? "\(first)" : "\(first) to \(last)"
        let names = last < version ? names(of: type, from: last, upTo: version) : names(of: type, from: first, downTo: version)
        let there = names.isEmpty ? "and has no image at \(version)" : "and at \(version) is \(names.joined(separator: " or "))"
        let shown = names.first.map { Advice.Call.showShape(type: $0, version) } ?? .showShape(type: type, last)
        return "\(type) exists at \(range) \(there): \(shown)"
    }

    /// The names that a type of one version has at a newer version.
    package func names(of type: String, from old: SchemaVersion, upTo version: SchemaVersion) -> [String] {
        chain.steps.filter { old < $0.version && $0.version <= version }.reduce([type]) { names, compiled in
            names.flatMap { compiled.step.fates(of: $0, after: 0).map(\.type) }.filter { self[compiled.version]?.events[$0] != nil }.unique
        }
    }

    /// The names that a type of one version had at an older version.
    private func names(of type: String, from new: SchemaVersion, downTo version: SchemaVersion) -> [String] {
        chain.steps.filter { version < $0.version && $0.version <= new }.reversed().reduce([type]) { names, compiled in
            let before = self[compiled.version.previous]?.types ?? []
            return before.filter { old in compiled.step.fates(of: old, after: 0).contains { names.has($0.type) } }
        }
    }

    /// What a step makes of a type; nil if it makes none or several types, or if the step does not exist.
    package func successor(of type: String, at version: SchemaVersion) -> TypeSuccessor? {
        guard let step = chain.step(to: version)?.step, let file = self[version] else { return nil }
        let fates = step.fates(of: type, after: 0)
        guard fates.count == 1, file.events[fates[0].type] != nil else { return nil }
        return TypeSuccessor(type: fates[0].type, moving: MovingOps(fates[0].ops))
    }
}

extension [String] {
    fileprivate var unique: [String] {
        var seen: Set<Name> = []
        return filter { seen.insert($0) }
    }
}

/// What an event type becomes at the next version.
package struct TypeSuccessor: Sendable {
    package let type: String
    let moving: MovingOps

    /// The pointer of a member at the next version.
    package func place(of pointer: JSONPointer) -> JSONPointer { moving.destination(of: pointer, from: 0) }
}
