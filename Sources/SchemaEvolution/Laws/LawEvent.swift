internal import Bytes
package import EventModel
internal import JSONText

/// An event on which the laws are tried.
package struct LawEvent: Hashable, Sendable {
    package enum Origin: String, Hashable, Sendable {
        case log
        /// Generated from the shape of its type.
        case generated
        /// Derived from an event of the log, as if born at the newest version.
        case mutated
        /// Adopted at version 1 from data in the log that predates versions.
        case adopted
    }

    package var origin: Origin
    /// The position of the event, or of the event from which it was derived.
    package var position: Position?
    package var stream: String
    package var type: String
    package var born: SchemaVersion
    package var time: Timestamp
    package var payload: [UInt8]
    package var metadata: [UInt8]
    /// Whether it was appended together with the previous event of the log.
    package var continuesAppend = false
    /// Whether the log keeps a shadow of it, so that older versions can be shown without the application's code.
    package var hasShadow = false

    package init(
        origin: Origin, position: Position? = nil, stream: String, type: String, born: SchemaVersion, time: Timestamp, payload: [UInt8],
        metadata: [UInt8], continuesAppend: Bool = false, hasShadow: Bool = false
    ) {
        (self.continuesAppend, self.hasShadow) = (continuesAppend, hasShadow)
        (self.origin, self.position, self.stream, self.type) = (origin, position, stream, type)
        (self.born, self.time, self.payload, self.metadata) = (born, time, payload, metadata)
    }
}

package struct LogLocation: Sendable {
    let position: Position?
    let continuesAppend: Bool

    package init(position: Position?, continuesAppend: Bool) { (self.position, self.continuesAppend) = (position, continuesAppend) }
}

extension LawEvent {
    var place: LogLocation { LogLocation(position: position, continuesAppend: continuesAppend) }

    /// The name of its stream at a version; its own name if a rekey can't convert it, which the law about names reports.
    func stream(at version: SchemaVersion, _ history: History) -> String {
        guard version != born, history.rekeysStreams else { return stream }
        do { return try history.streamName(StreamName(stream), from: born, to: version).text } catch { return stream }
    }
}

/// A step that an event crosses: its type before, and one of its types after, which is nil if it has no image.
package struct StepCrossing: Hashable, Sendable {
    let step: SchemaVersion
    let direction: Direction
    let from: String
    let to: String?
}

/// Whether a law holds for an event.
package struct LawVerdict: Sendable {
    /// The meaning of a failure.
    package enum Weight: Hashable, Sendable {
        /// The steps contain an error.
        case required
        /// The steps may lose something that none of them declares.
        case noted
        /// The failure is allowed and counted.
        case measured
    }

    package let law: String
    package var holds = true
    package var weight = Weight.required
    package var error: EvstoreError?
}

/// An event, or several merged events of one append, for which a law does not hold.
package struct LawFailure: Sendable {
    package let verdict: LawVerdict
    package internal(set) var events: [LawEvent]
    package let target: SchemaVersion

    /// The last of the events, whose position the merged event has.
    package var event: LawEvent { events[events.count - 1] }
}

extension LawFailure {
    /// Reproduces the failure with smaller events: removes and shortens values as long as the law still fails, in at most about 2,000
    /// tries.
    package func shrunk(_ history: History) -> LawFailure {
        var trial = LawTrial(history, isFull: true)
        var best = self
        var tries = 0
        var isSmaller = true
        while isSmaller, tries < 2_000 {
            isSmaller = false
            for candidate in best.simpler(history) {
                tries += 1
                var walk = StepWalk()
                let same = trial.verdicts(onAll: candidate, at: target, along: &walk).first {
                    $0.law == verdict.law && !$0.holds && $0.weight == verdict.weight
                }
                guard same != nil else { continue }
                best.events = candidate
                isSmaller = true
                break
            }
        }
        return best
    }

    /// Candidates: the events without one of them, or with one payload reduced in one place, each valid in its shape.
    private func simpler(_ history: History) -> [[LawEvent]] {
        var found: [[LawEvent]] = []
        for index in events.indices where events.count > 1 {
            found.append(events)
            found[found.count - 1].remove(at: index)
        }
        for index in events.indices {
            guard let shape = history.shape(of: events[index].type, at: events[index].born), let whole = Self.payload(events[index])
            else { continue }
            for value in whole.simpler(shape.shape) where shape.shape.rejection(of: value) == nil {
                found.append(events)
                found[found.count - 1][index].payload = Array(value.text.utf8)
            }
        }
        return found
    }

    /// The payloads as text, with personal and sealed members masked.
    package func example(_ history: History) -> String {
        events.map { event in
            guard let shape = history.shape(of: event.type, at: event.born), let whole = Self.payload(event) else { return "{}" }
            return whole.masked(shape.shape).text
        }.joined(separator: " and ")
    }

    private static func payload(_ event: LawEvent) -> JSONValue? {
        do { return try JSONValue(parsing: event.payload.lent) } catch { return nil }
    }
}

extension JSONValue {
    /// Values that are smaller in one place, the largest reductions first.
    fileprivate func simpler(_ shape: Shape) -> [JSONValue] {
        switch self {
        case .object(let members):
            var found: [JSONValue] = []
            for index in members.indices where !shape.required.contains(members[index].name) {
                var fewer = members
                fewer.remove(at: index)
                found.append(.object(fewer))
            }
            for (index, member) in members.enumerated() {
                for value in member.value.simpler(shape.property(member.name) ?? shape.additional ?? .any) {
                    var other = members
                    other[index].value = value
                    found.append(.object(other))
                }
            }
            return found
        case .array(let elements):
            var found: [JSONValue] = []
            for index in elements.indices {
                var fewer = elements
                fewer.remove(at: index)
                found.append(.array(fewer))
            }
            for (index, element) in elements.enumerated() {
                for value in element.simpler(shape.items ?? .any) {
                    var other = elements
                    other[index] = value
                    found.append(.array(other))
                }
            }
            return found
        case .string(let text):
            let scalars = Array(text.unicodeScalars)
            guard !scalars.isEmpty, shape.format == nil else { return [] }
            let shorter = [[], Array(scalars.prefix(scalars.count / 2)), Array(scalars.dropFirst()), Array(scalars.dropLast())]
            return shorter.map { .string(String(String.UnicodeScalarView($0))) }.filter { $0 != self }
        case .number(let text):
            guard text != "0" else { return [] }
            let half = Int(text).map { String($0 / 2) }
            return (["0"] + [half].compactMap(\.self)).filter { $0 != text }.map { .number($0) }
        case .null, .bool: return []
        }
    }

    fileprivate func masked(_ shape: Shape) -> JSONValue {
        if shape.isPersonal || shape.isSealed { return .string("(personal)") }
        switch self {
        case .object(let members):
            return .object(
                members.map { .init(name: $0.name, value: $0.value.masked(shape.property($0.name) ?? shape.additional ?? .any)) })
        case .array(let elements): return .array(elements.map { $0.masked(shape.items ?? .any) })
        default: return self
        }
    }
}
