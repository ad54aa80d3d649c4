internal import Bytes
internal import EventLog
internal import EventModel
internal import Migration
internal import SchemaEvolution

/// Finds where an append of lines may end: not between events that a step merges, since a step merges only events of one append.
///
/// The steps are run on the lines, as for an append, to find which of them are merged; lines of other streams may lie between them. Lines
/// that are further apart than the longest append belong to different ones.
final class AppendBounds {
    private let history: History
    private let version: SchemaVersion
    private let linesMax: Int
    private let viewer: PathRunner
    private let sealer: LineSealer?
    private var parser: EventLineParser
    /// The types whose events a step merges with those of a type, by that type.
    private var merged: [TypeAtVersion: Set<Name>] = [:]

    /// Only events of one stream and birth version are merged.
    private typealias Key = NameAtVersion

    private typealias Member = (line: Int, event: AppendedEvent)

    /// Lines of which steps make one event.
    private struct Merge {
        var lines: ClosedRange<Int>
        /// Whether another line may yet be merged with them.
        var isOpen: Bool
        /// Whether these lines alone have an image.
        var hasImage: Bool
        var key: Key
    }

    /// Whether the lines behind those that are examined are known.
    enum Following {
        /// There are none, or enough lines are examined to have all that are merged with those to be appended.
        case known
        /// The input has not ended: further lines may be merged with these.
        case awaited
        /// The import has waited long enough: events that have an image without further lines are appended.
        case late
    }

    /// Nil where no step merges events.
    init?(_ history: History, as version: SchemaVersion, _ form: LineForm, linesMax: Int, opening sealer: LineSealer?) {
        guard history.mergesEvents else { return nil }
        (self.history, self.version, self.sealer) = (history, version, sealer)
        (viewer, self.linesMax) = (PathRunner(history), linesMax)
        parser = EventLineParser(form)
    }

    /// Returns how many of the first lines can be appended together now; 0 where none can.
    ///
    /// Where every boundary separates lines that steps merge, one is chosen that costs no event its image: such events can't be
    /// distinguished from others of their stream that were appended one by one.
    /// - Parameters:
    ///   - start: the offset of the first line in `text`.
    ///   - ends: the ends of the lines, as offsets from `start`.
    ///   - most: how many lines an append may have.
    func appendable(_ text: borrowing ByteBuffer, from start: Int, _ ends: ArraySlice<Int>, most: Int, _ following: Following) -> Int {
        var groups: [Key: [Member]] = [:]
        for (line, index) in ends.indices.enumerated() {
            let begin = line == 0 ? 0 : ends[index - 1]
            guard let (key, event) = mergedLine(text.slice(start + begin, ends[index] - 1 - begin)) else { continue }
            groups[key, default: []].append((line, event))
        }
        var merges: [Merge] = []
        for (key, members) in groups { merges += self.merges(members, key) }
        // Lines that are further apart than the longest append were not appended together.
        merges.removeAll { $0.lines.count > linesMax }
        if following == .late { for index in merges.indices where merges[index].hasImage { merges[index].isOpen = false } }
        let best = last(merges, in: ends.count, most: most, opensCount: following != .known)
        if following != .known || best > most / 2 { return best }
        return boundary(in: groups, merges, most) ?? best
    }

    /// A boundary between lines that steps would merge, which costs no event its image: the one that changes the number of images the least.
    private func boundary(in groups: [Key: [Member]], _ merges: [Merge], _ most: Int) -> Int? {
        var wholes: [Key: View] = [:]
        var found: [(boundary: Int, more: Int, open: Int)] = []
        var effort = 0
        for boundary in stride(from: most, to: 0, by: -1) where effort < Self.effortMax * most && found.count < Self.boundariesMax {
            var (images, failures, open) = (0, 0, 0)
            effort += 1 + merges.count / 16
            for key in Set(merges.filter { $0.lines.lowerBound < boundary && boundary <= $0.lines.upperBound }.map(\.key)) {
                guard let members = groups[key] else { continue }
                effort += members.count
                let whole = wholes[key] ?? view(members[...], key) ?? View()
                wholes[key] = whole
                let left = view(members.prefix { $0.line < boundary }, key) ?? View()
                let right = view(members.drop { $0.line < boundary }, key) ?? View()
                images += left.images + right.images - whole.images
                failures += left.failed.count + right.failed.count - whole.failed.count
                open += left.open
            }
            if failures <= 0 { found.append((boundary, max(0, images), open)) }
        }
        // Of these, the boundary that leaves the fewest images without later lines that belong to them.
        return found.min { ($0.more, $0.open, -$0.boundary) < ($1.more, $1.open, -$1.boundary) }?.boundary
    }

    /// How many lines are examined again to find a boundary, for each line that may be appended.
    private static let effortMax = 20
    private static let boundariesMax = 16

    /// What steps make of events of one stream and birth version.
    private struct View {
        var images = 0
        /// How many of the images further events could have been merged into.
        var open = 0
        var failed: [Int] = []
        var merged: [(first: Int, last: Int, isWhole: Bool)] = []
    }

    /// Views events at the newest version that this program has the steps to; nil where it has none.
    private func view(_ members: ArraySlice<Member>, _ key: Key) -> View? {
        var target = history.head
        while target > key.version {
            var view = View()
            do {
                try viewer.view(
                    appended: members.map(\.event), born: key.version, at: target, failed: { index, _ in view.failed.append(index) },
                    met: { indices, isWhole in
                        guard let first = indices.first, let last = indices.last else { return }
                        view.merged.append((first, last, isWhole))
                    }
                ) { _, _ in view.images += 1 }
                view.open = members.count == 1 ? 1 : view.merged.count { !$0.isWhole }
                return view
            } catch {
                // Where this program lacks a step, the version below it decides.
                target = target.previous
            }
        }
        return nil
    }

    /// The last boundary within no merge, as a number of lines; an open merge near the end extends to the end.
    private func last(_ merges: [Merge], in count: Int, most: Int, opensCount: Bool) -> Int {
        var begun = [Int](repeating: 0, count: count + 2)
        for merge in merges {
            let isOpen = opensCount && merge.isOpen && merge.lines.lowerBound + linesMax > count
            begun[merge.lines.lowerBound + 1] += 1
            begun[isOpen ? count + 1 : merge.lines.upperBound + 1] -= 1
        }
        var (within, found) = (0, 0)
        for boundary in stride(from: 1, through: min(most, count), by: 1) {
            within += begun[boundary]
            if within == 0 { found = boundary }
        }
        return found
    }

    private func merges(_ members: [Member], _ key: Key) -> [Merge] {
        guard let view = view(members[...], key) else { return [] }
        if let only = members.first, members.count == 1 {
            return [Merge(lines: only.line ... only.line, isOpen: true, hasImage: view.failed.isEmpty, key: key)]
        }
        return view.merged.map { merged in
            Merge(
                lines: members[merged.first].line ... members[merged.last].line, isOpen: !merged.isWhole,
                hasImage: !view.failed.contains(merged.last), key: key)
        }
    }

    /// The event of a line, where its type is merged with others; else nil.
    private func mergedLine(_ line: RawSpan) -> (key: Key, event: AppendedEvent)? {
        // `LineReader` reports what is wrong with a line.
        do {
            var parsed = try parser.parse(line, opening: sealer)
            try parsed.nameStream(by: history, bornAt: version)
            let event = parsed.event
            let born = event.version ?? version
            let type = TypeAtVersion(type: event.type, version: born)
            guard born.rawValue > 0, history.shape(of: event.type, at: born) != nil else { return nil }
            let found = try merged[type] ?? history.types(mergedWith: event.type, at: born)
            merged[type] = found
            guard !found.isEmpty else { return nil }
            let appended = AppendedEvent(
                type: event.type, payload: event.payload, metadata: event.metadata ?? [], time: event.time ?? .now,
                stream: event.stream.text)
            return (Key(name: event.stream, version: born), appended)
        } catch { return nil }
    }
}
