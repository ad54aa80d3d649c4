internal import Bytes
internal import EventLog
internal import EventModel
internal import Migration
internal import SchemaEvolution

/// Finds where lines may be parted into appends: not between events that a step merges, since only those of one append meet.
///
/// Which lines meet is found out as it is for an append, by running the steps; how lines of other streams lie between them does
/// not matter. Lines that are further apart than an append is long are of different ones.
final class AppendBounds {
    private let history: History
    private let version: SchemaVersion
    private let linesMax: Int
    private let viewer: Viewer
    private let sealer: LineSealer?
    private var parser: EventLineParser
    /// The types that are merged with one, by that.
    private var merged: [TypeAtVersion: Set<String>] = [:]

    /// Events are merged with those of their stream and birth version.
    private struct Key: Hashable {
        var stream: StreamName
        var born: SchemaVersion
    }

    private struct Member {
        var line: Int
        var event: AppendedEvent
    }

    /// Lines that a step makes one event of.
    private struct Tie {
        var lines: ClosedRange<Int>
        /// Whether another line may yet be merged with them.
        var isOpen: Bool
        /// Whether there is an image of them as they are.
        var isSeen: Bool
        var key: Key
    }

    /// What is seen of lines.
    private struct Sight {
        var images = 0
        var failures = 0
        /// Images that others could have been merged to.
        var open = 0
    }

    /// What is known of the lines that come behind those that are looked at.
    enum Rest {
        /// None come, or so many are looked at that what belongs with those to be appended is among them.
        case known
        /// They are waited for.
        case awaited
        /// They have been waited for long enough, where an event can stand alone.
        case late
    }

    /// Nil where no step merges events.
    init?(_ history: History, as version: SchemaVersion, _ options: Options, linesMax: Int, opening sealer: LineSealer?) {
        guard history.mergesEvents else { return nil }
        (self.history, self.version, self.sealer) = (history, version, sealer)
        (viewer, self.linesMax) = (Viewer(history), linesMax)
        parser = EventLineParser(options: options, takesOldData: version.rawValue == 0)
    }

    /// Of lines whose ends are given, and which are those of `text` behind `start`: how many, at most `most`, can be appended
    /// together now; 0 where none can.
    ///
    /// Where every place parts something, one is taken behind which all can be seen as well: events that can be seen alone can't be
    /// told from others of their stream that were appended one by one.
    func settled(_ text: borrowing ByteBuffer, from start: Int, _ ends: ArraySlice<Int>, most: Int, _ rest: Rest) -> Int {
        var groups: [Key: [Member]] = [:]
        for (line, index) in ends.indices.enumerated() {
            let begin = line == 0 ? 0 : ends[index - 1]
            guard let (key, event) = mergedLine(text.slice(start + begin, ends[index] - 1 - begin)) else { continue }
            groups[key, default: []].append(Member(line: line, event: event))
        }
        var ties: [Tie] = []
        for (key, members) in groups { ties += self.ties(members, key) }
        // What is further apart than an append is long was not appended together.
        ties.removeAll { $0.lines.count > linesMax }
        if rest == .late { for index in ties.indices where ties[index].isSeen { ties[index].isOpen = false } }
        let best = last(ties, in: ends.count, most: most, opensCount: rest != .known)
        if rest != .known || best > most / 2 { return best }
        return place(in: groups, ties, most) ?? best
    }

    /// A place that parts lines which the steps would merge with each other and changes nothing all the same: as many events are
    /// seen, and all that were. Where there is none, one that leaves all of them an image.
    private func place(in groups: [Key: [Member]], _ ties: [Tie], _ most: Int) -> Int? {
        var wholes: [Key: Sight] = [:]
        var found: [(place: Int, more: Int, open: Int)] = []
        var effort = 0
        for place in stride(from: most, to: 0, by: -1) where effort < Self.effortMax * most && found.count < Self.placesMax {
            var (images, failures, open) = (0, 0, 0)
            effort += 1 + ties.count / 16
            for key in Set(ties.filter { $0.lines.lowerBound < place && place <= $0.lines.upperBound }.map(\.key)) {
                guard let members = groups[key] else { continue }
                effort += members.count
                let whole = wholes[key] ?? sight(of: members[...], key)
                wholes[key] = whole
                let (left, right) = (
                    sight(of: members.prefix { $0.line < place }, key), sight(of: members.drop { $0.line < place }, key)
                )
                images += left.images + right.images - whole.images
                failures += left.failures + right.failures - whole.failures
                open += left.open
            }
            if failures <= 0 { found.append((place, max(0, images), open)) }
        }
        // What is left open the least takes the fewest from those behind it.
        return found.min { ($0.more, $0.open, -$0.place) < ($1.more, $1.open, -$1.place) }?.place
    }

    /// Lines that are looked at once more to find a place, for each that may be appended.
    private static let effortMax = 20
    /// How many are compared.
    private static let placesMax = 16

    private func sight(of members: ArraySlice<Member>, _ key: Key) -> Sight {
        var target = history.head
        while target > key.born {
            var sight = Sight()
            do {
                try viewer.view(
                    appended: members.map(\.event), born: key.born, at: target, failed: { _, _ in sight.failures += 1 },
                    met: { sight.open += $1 ? 0 : 1 }
                ) { _, _ in sight.images += 1 }
                if members.count == 1 { sight.open = 1 }
                return sight
            } catch {
                target = SchemaVersion(rawValue: target.rawValue - 1)
            }
        }
        return Sight()
    }

    /// The last place, behind so many lines, that lies within no tie; none lies behind one that is open and near the end.
    private func last(_ ties: [Tie], in count: Int, most: Int, opensCount: Bool) -> Int {
        var begun = [Int](repeating: 0, count: count + 2)
        for tie in ties {
            let isOpen = opensCount && tie.isOpen && tie.lines.lowerBound + linesMax > count
            begun[tie.lines.lowerBound + 1] += 1
            begun[isOpen ? count + 1 : tie.lines.upperBound + 1] -= 1
        }
        var (within, found) = (0, 0)
        for place in stride(from: 1, through: min(most, count), by: 1) {
            within += begun[place]
            if within == 0 { found = place }
        }
        return found
    }

    /// What is merged of events of one stream and birth version, at the newest version that this program has the steps to.
    private func ties(_ members: [Member], _ key: Key) -> [Tie] {
        var target = history.head
        while target > key.born {
            var (ties, met, failed): ([Tie], [Int], Set<Int>) = ([], [], [])
            do {
                try viewer.view(
                    appended: members.map(\.event), born: key.born, at: target, failed: { index, _ in failed.insert(index) },
                    met: { indices, isWhole in
                        guard let first = indices.first, let last = indices.last else { return }
                        met.append(last)
                        ties.append(
                            Tie(lines: members[first].line ... members[last].line, isOpen: !isWhole, isSeen: true, key: key))
                    }
                ) { _, _ in }
                for (index, last) in met.enumerated() { ties[index].isSeen = !failed.contains(last) }
                if let only = members.first, members.count == 1 {
                    ties = [Tie(lines: only.line ... only.line, isOpen: true, isSeen: failed.isEmpty, key: key)]
                }
                return ties
            } catch {
                // A program that lacks a step knows of those below it.
                target = SchemaVersion(rawValue: target.rawValue - 1)
            }
        }
        return []
    }

    /// What a line says, where its event is one that is merged with others.
    private func mergedLine(_ line: RawSpan) -> (key: Key, event: AppendedEvent)? {
        // What is wrong with a line is told where it is checked.
        do {
            let event = try event(of: line)
            let born = event.version ?? version
            let type = TypeAtVersion(type: event.type, version: born)
            guard born.rawValue > 0, history.shape(of: event.type, at: born) != nil else { return nil }
            let found = try merged[type] ?? history.types(mergedWith: event.type, at: born)
            merged[type] = found
            guard !found.isEmpty else { return nil }
            let appended = AppendedEvent(
                type: event.type, payload: event.payload, metadata: event.metadata ?? [], time: event.time ?? .now,
                stream: event.stream.text)
            return (Key(stream: event.stream, born: born), appended)
        } catch { return nil }
    }

    private func event(of line: RawSpan) throws(EvstoreError) -> NewEvent {
        guard let sealed = SealedLine(line) else { return try parser.parse(line) }
        var opened = ByteBuffer(capacity: line.byteCount)
        try sealed.open(by: sealer, into: &opened)
        return try parser.parse(opened.bytes)
    }
}
