internal import Bytes
internal import EventModel
internal import JSONText
internal import Migration
internal import Platform
internal import Projections

/// Lines as they were read, followed by `textEnd`.
final class LineText: Sendable {
    let buffer: ByteBuffer

    init(copying input: borrowing ByteBuffer, _ start: Int, _ count: Int) {
        var buffer = ByteBuffer(capacity: count + textEndBytes)
        buffer.append(input.slice(start, count))
        buffer.append(littleEndian: textEnd)
        self.buffer = buffer
    }
}

/// Consecutive whole lines of an input.
struct LineChunk: Sendable {
    /// The lines, each with its line feed; the last line of an input is given one if it has none.
    let text: LineText
    /// Where each line ends, behind its line feed.
    let ends: [Int]
    /// The number of the first line, from 1.
    let firstLine: UInt64
    /// Whether the input ends in its last line without a line feed: where that line is refused, the rest of it may not have come yet.
    let isOpen: Bool

    /// How many of its first lines earlier imports have appended, but for those that they left out.
    var covered = 0
    /// The covered lines that earlier imports left out.
    var leftOut: [UInt64: LeftOutLine] = [:]
    /// Whether covered lines are appended again.
    var isAgain = false

    /// Whether a line is to be read.
    func isRead(_ index: Int) -> Bool { index >= covered || isAgain || leftOut[firstLine + UInt64(index)] != nil }

    var lastLine: UInt64 { firstLine + UInt64(ends.count) - 1 }

    /// The last line that has come whole for certain.
    var lastWholeLine: UInt64 { lastLine - (isOpen ? 1 : 0) }

    func start(of index: Int) -> Int { index == 0 ? 0 : ends[index - 1] }

    /// The line without its line feed.
    func range(of index: Int) -> Range<Int> { start(of: index) ..< ends[index] - 1 }

    /// Whether a line holds only white space.
    func isBlank(_ index: Int) -> Bool {
        for offset in range(of: index) {
            switch text.buffer.byte(at: offset) {
            case 0x20, 0x09, 0x0d: continue
            default: return false
            }
        }
        return true
    }
}

/// Divides a file, a pipe or a document into chunks of lines. The chunks of a regular file depend on its content alone.
final class LineInput {
    private let file: InputFile
    private let name: String
    private let job: Job
    private let linesMax: Int
    private let chunkBytesMax: Int
    private let lineBytesMax: Int
    /// The line in which each element begins, where the input is one JSON document: each element of its list becomes a line in the buffer.
    private let elementLines: [UInt64]?
    private var isDocument: Bool { elementLines != nil }
    /// Nil where an append may end behind any line.
    private let bounds: AppendBounds?
    private var buffer: ByteBuffer
    /// Where in the buffer the next line begins.
    private var cursor = 0
    /// The ends of whole lines behind the cursor, and how many bytes were searched for them.
    private var ends: [Int] = []
    private var scanned = 0
    /// Since when lines are waiting that may be merged with later ones.
    private var leftSince: Instant?
    private var nextLine: UInt64 = 1
    /// Whether the buffer held the input's first bytes, without a byte order mark.
    private var hasBegun = false
    private var ended: Bool
    /// Whether the last line had no line feed.
    private var lacksFeed = false
    private var bytesRead: UInt64 = 0
    private var bytesMax: UInt64

    /// Opens the source; reads a document completely and finds its list.
    init(
        _ source: ImportSource, each pointer: String?, bounds: AppendBounds?, options: Options, _ job: Job
    ) throws(EvstoreError) {
        (self.job, self.bounds) = (job, bounds)
        name = source.name
        do {
            switch source {
            case .file(let path):
                file = try InputFile(path: path)
            case .descriptor(let descriptor):
                file = try InputFile(descriptor: descriptor)
            }
        } catch { throw .usage("can't read \(source.name): \(error)") }
        linesMax = Self.linesMax(options)
        // A quarter, since a commit holds index entries and marks too.
        chunkBytesMax = max(1, min(options.appendBytesMax, options.commitBytesMax) / 4)
        lineBytesMax = EventLineParser.lineBytesMax(options)
        bytesMax = file.isRegular ? file.size : .max
        ended = pointer != nil
        var places: [UInt64]?
        buffer =
            if let pointer { try Self.elements(ofDocument: file, at: pointer, name: name, &places) } else {
                ByteBuffer(capacity: Self.readBytes)
            }
        elementLines = places
    }

    /// Where a line is, or the element of a document that has its number.
    func place(of number: UInt64) -> (line: UInt64, element: UInt64?) {
        guard let elementLines else { return (number, nil) }
        // Elements have the numbers from 1 on.
        return (elementLines[Int(clamping: number) - 1], number)
    }

    /// The error of a line, or of an element.
    func refusal(_ number: UInt64, _ error: EvstoreError) -> EvstoreError {
        switch place(of: number) {
        case (let line, nil): .refusedLine(line, file: name, error)
        case (let line, let element?): .refusedElement(element, line: line, file: name, error)
        }
    }

    /// Whether the input can be read a second time.
    var isRepeatable: Bool { isDocument || file.isRegular }

    /// Whether `next` returns without waiting for the program that writes to the pipe.
    var isReady: Bool { ended || file.isReady(withinMilliseconds: 0) }

    /// The most lines of one append.
    static func linesMax(_ options: Options) -> Int { min(options.appendEventsMax, options.commitEventsMax) }

    enum Piece {
        case lines(LineChunk)
        /// No line that can be appended has arrived for a while.
        case nothingYet
        case end
    }

    /// Returns the next lines.
    ///
    /// Where a slow writer has given whole lines, this does not wait for more, even if the next line has begun.
    func next() throws(EvstoreError) -> Piece {
        let began = Instant.now
        while true {
            findEnds()
            if ended || isFull { break }
            if buffer.count - cursor - scannedLines > lineBytes(at: cursor + scannedLines) {
                throw .refusedLine(
                    nextLine + UInt64(ends.count), file: name,
                    .invalidLine(reason: "has no line feed within the \(lineBytesMax) bytes that a line may have", pointer: ""))
            }
            if !file.isReady(withinMilliseconds: Self.patienceMilliseconds) || !file.isRegular && began.duration(to: .now) > Self.patience {
                return nextAppendable(isLate ? .late : .awaited).map { .lines($0) } ?? .nothingYet
            }
            try fill()
        }
        if ends.isEmpty { return .end }
        if let chunk = nextAppendable(.known) { return .lines(chunk) }
        throw refusal(
            nextLine,
            .appendTooLarge(
                reason: "from this line on, more than \(most) lines that steps merge with each other have no place between them "
                    + "where one append could end, and an append has at most \(linesMax) events"))
    }

    /// Waits until there is more to read, until `end`, or until the waiting lines have waited long enough.
    func wait(until end: Instant?) throws(EvstoreError) {
        while !file.isReady(withinMilliseconds: Self.askMilliseconds) {
            try job.check()
            if isLate || end.map({ $0 <= .now }) ?? false { return }
        }
    }

    private var scannedLines: Int { ends.last ?? 0 }

    /// Where steps may merge lines, the buffer holds the lines of two appends.
    private var isFull: Bool {
        let appends = bounds == nil ? 1 : 2
        return ends.count >= appends * linesMax || scannedLines >= appends * chunkBytesMax
    }

    /// How many of the lines fit into one append.
    private var most: Int { min(linesMax, (ends.firstIndex { $0 >= chunkBytesMax } ?? ends.count - 1) + 1) }

    private var isLate: Bool { leftSince.map { $0.duration(to: .now) > Self.mergePatience } ?? false }

    /// Removes the next lines that can be appended together; nil where there are none, or where all of them may be merged with later ones.
    private func nextAppendable(_ following: AppendBounds.Following) -> LineChunk? {
        if ends.isEmpty { return nil }
        var count = most
        let isAll = ended && count == ends.count && cursor + scannedLines == buffer.count
        if let bounds, !isAll { count = bounds.appendable(buffer, from: cursor, ends[...], most: count, following) }
        leftSince = count == ends.count ? nil : following == .late ? .now : leftSince ?? .now
        if count == 0 { return nil }
        let end = ends[count - 1]
        let chunk = LineChunk(
            text: LineText(copying: buffer, cursor, end), ends: Array(ends[..<count]), firstLine: nextLine,
            isOpen: lacksFeed && cursor + end == buffer.count)
        cursor += end
        scanned -= end
        ends = ends[count...].map { $0 - end }
        nextLine += UInt64(count)
        return chunk
    }

    private func lineBytes(at start: Int) -> Int { beginsSealed(at: start) ? SealedLine.bytesMax(of: lineBytesMax) : lineBytesMax }

    private func beginsSealed(at start: Int) -> Bool {
        let beginning = SealedLine.beginning
        return start + beginning.count <= buffer.count && beginning.indices.allSatisfy { buffer.byte(at: start + $0) == beginning[$0] }
    }

    private static let patienceMilliseconds: Int32 = 20
    /// How long to collect lines of a slow writer.
    private static let patience = Duration.milliseconds(200)
    /// How long to wait for lines that may be merged with waiting lines that can also stand alone.
    private static let mergePatience = Duration.seconds(5)
    /// How often a wait for input checks for cancellation.
    private static let askMilliseconds: Int32 = 100

    static let readBytes = 1 << 20

    /// Goes back to the beginning, to read exactly as many bytes as the first time.
    func rewind() throws(EvstoreError) {
        (nextLine, cursor, scanned, ends, hasBegun) = (1, 0, 0, [], isDocument)
        if isDocument { return }
        buffer.removeAll()
        (bytesMax, bytesRead, ended, lacksFeed) = (bytesRead, 0, false, false)
        do { try file.rewind() } catch { throw .ioFailure(doing: "reading \(name) again", reason: "\(error)") }
    }

    /// Finds the ends of lines in the buffer, until it is full.
    private func findEnds() {
        while !isFull {
            guard let feed = Self.lineFeed(in: buffer, from: cursor + scanned) else {
                scanned = buffer.count - cursor
                return
            }
            scanned = feed + 1 - cursor
            ends.append(scanned)
        }
    }

    private static func lineFeed(in text: borrowing ByteBuffer, from start: Int) -> Int? {
        let bytes = text.bytes
        return bytes.firstLineFeed(from: start)
    }

    static func passedOver(_ text: borrowing ByteBuffer, of name: String) throws(EvstoreError) -> Int {
        try TextBeginning.passedOver(text.bytes, of: name)
    }

    private func fill() throws(EvstoreError) {
        while !file.isReady(withinMilliseconds: Self.askMilliseconds) { try job.check() }
        try job.check()
        buffer.removeFirst(cursor)
        cursor = 0
        let wanted = Int(clamping: min(UInt64(Self.readBytes), bytesMax - bytesRead))
        do {
            let count = wanted == 0 ? 0 : try file.read(into: &buffer, atMost: wanted)
            bytesRead += UInt64(count)
            ended = count == 0
        } catch { throw .ioFailure(doing: "reading \(name)", reason: "\(error)") }
        if !hasBegun, ended || buffer.count >= TextBeginning.bytesMax {
            hasBegun = true
            let passedOver = try Self.passedOver(buffer, of: name)
            buffer.removeFirst(passedOver)
        }
        if ended, buffer.count > 0, buffer.byte(at: buffer.count - 1) != UInt8(ascii: "\n") {
            buffer.append(UInt8(ascii: "\n"))
            lacksFeed = true
        }
    }
}

extension ImportSource {
    var name: String {
        switch self {
        case .file(let path): path
        case .descriptor(0): "standard input"
        case .descriptor(let number): "descriptor \(number)"
        }
    }
}

extension LineInput {
    /// A document is held in memory completely, up to this size.
    private static let documentBytesMax = 1 << 30

    /// The elements of the list at a pointer in a JSON document, one per line; the document itself where the pointer is empty and the
    /// document is an object.
    /// - Parameter places: becomes the line of the document in which each element begins.
    static func elements(
        ofDocument file: borrowing InputFile, at text: String, name: String, _ places: inout [UInt64]?
    ) throws(EvstoreError) -> ByteBuffer {
        let pointer: JSONPointer
        do throws(JSONError) { pointer = try JSONPointer(text) } catch {
            throw .usage(
                "\(quoted(text)) is not a pointer: \(error.reason)",
                fix: "begin it with /, as in /orders, or name the whole document by ''")
        }
        var document = ByteBuffer(capacity: readBytes)
        do {
            while try file.read(into: &document, atMost: readBytes) > 0 {
                guard document.count <= documentBytesMax else { break }
            }
        } catch { throw .ioFailure(doing: "reading \(name)", reason: "\(error)") }
        if document.count > documentBytesMax { throw .usage("\(name) is too large for one document: write its entries as lines") }
        let passedOver = try passedOver(document, of: name)
        document.removeFirst(passedOver)
        var splice = JSONEditor()
        do throws(JSONError) {
            _ = try JSONScanner.validate(document.bytes, limits: .none)
            try splice.load(document.bytes)
        } catch {
            var place = LineCount()
            place.advance(to: error.offset, in: document.bytes)
            throw .refusedLine(place.line, file: name, EvstoreError(error))
        }
        guard let found = find(pointer, in: &splice) else {
            throw .refusedLine(1, file: name, .invalidLine(reason: "is not there", pointer: text))
        }
        let kind = splice.kind(found)
        guard kind == .array || kind == .object && text.isEmpty else {
            throw .refusedLine(1, file: name, .invalidLine(reason: "is of the kind \(kind), and no list", pointer: text))
        }
        var lines = ByteBuffer(capacity: document.count)
        if kind == .object {
            places = [1]
            lines.append(onOneLine: document.bytes)
            lines.append(UInt8(ascii: "\n"))
            return lines
        }
        var (starts, place, child): ([UInt64], LineCount, JSONEditor.Node?) = ([], LineCount(), splice.firstChild(of: found))
        while let element = child {
            place.advance(to: splice.start(of: element), in: document.bytes)
            starts.append(place.line)
            lines.append(onOneLine: splice.text(of: element))
            lines.append(UInt8(ascii: "\n"))
            child = splice.next(after: element)
        }
        places = starts
        return lines
    }

    /// The value at a pointer, which may lead through lists (RFC 6901); nil where there is none.
    private static func find(_ pointer: JSONPointer, in document: inout JSONEditor) -> JSONEditor.Node? {
        var node = document.root
        for token in pointer.tokens {
            let isList = document.kind(node) == .array
            guard let next = isList ? element(token.text, of: node, in: &document) : document.member(token, of: node) else { return nil }
            node = next
        }
        return node
    }

    /// The element of a list at an index, which is written in digits without leading zeros.
    private static func element(_ token: String, of list: JSONEditor.Node, in document: inout JSONEditor) -> JSONEditor.Node? {
        guard let index = Int(token), index >= 0, String(index) == token else { return nil }
        var (child, rest) = (document.firstChild(of: list), index)
        while let node = child, rest > 0 { (child, rest) = (document.next(after: node), rest - 1) }
        return child
    }
}

private struct LineCount {
    /// The line of the place that was reached last, from 1.
    private(set) var line: UInt64 = 1
    private var reached = 0

    /// Goes on to a place that is not before the last one.
    mutating func advance(to place: Int, in text: RawSpan) {
        let part = text.slice(reached, min(place, text.byteCount) - reached)
        var offset = 0
        while let feed = part.firstLineFeed(from: offset) { (line, offset) = (line + 1, feed + 1) }
        reached += part.byteCount
    }
}

/// The first bytes of an input that should be text in UTF-8.
enum TextBeginning {
    /// So many bytes tell how an input begins.
    static let bytesMax = 3

    private static let byteOrderMark: [UInt8] = [0xef, 0xbb, 0xbf]
    private static let foreign: [(beginning: [UInt8], form: String, program: String)] = [
        ([0x1f, 0x8b], "gzip", "zcat"), ([0x28, 0xb5, 0x2f], "zstd", "zstdcat"),
        ([0xff, 0xfe], "UTF-16", "iconv -f UTF-16 -t UTF-8"), ([0xfe, 0xff], "UTF-16", "iconv -f UTF-16 -t UTF-8"),
    ]

    /// How many bytes a reader passes over: those of the byte order mark with which some programs begin a text in UTF-8; RFC 8259 lets a
    /// reader ignore it.
    /// - Throws: `EvstoreError.usage` where the input is compressed, or text in another encoding.
    static func passedOver(_ text: RawSpan, of name: String) throws(EvstoreError) -> Int {
        for (beginning, form, program) in foreign where text.begins(with: beginning) {
            throw .usage("\(name) is \(form), and not text in UTF-8", fix: "unpack or convert it first, as in \(.piped(through: program))")
        }
        return text.begins(with: byteOrderMark) ? byteOrderMark.count : 0
    }
}

extension RawSpan {
    fileprivate func begins(with bytes: [UInt8]) -> Bool { byteCount >= bytes.count && slice(0, bytes.count).equals(bytes.lent) }
}
