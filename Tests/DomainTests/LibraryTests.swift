import Crypto
import Evstore
import EvstoreTesting
import Foundation
import TestSupport
import Testing

/// The recipes of the page `RecipesInSwift`, on stores of their own: each test brings about what could go wrong.
@Suite("Recipes in Swift, in a library", .timeLimit(.minutes(10)))
struct LibraryTests {
    private let directory: TemporaryDirectory
    private let schemas: Schemas
    private let noon: Timestamp

    init() throws {
        directory = try TemporaryDirectory()
        var files = try DocPage("RecipesInSwift").blocks("yaml").map(\.lines)
        // Of version 2 the page shows what differs: two lines for one of the head, and those of a type.
        let difference = files.removeLast()
        var second = try #require(files.first)
        let place = try #require(second.firstIndex { $0.hasPrefix("  BookLent:") })
        second.replaceSubrange(place ... place + 1, with: difference[3 ... 4])
        second.replaceSubrange(2 ... 2, with: difference[1 ... 2])
        for (name, lines) in zip(["v1", "projections", "v2"], files + [second]) {
            try directory.write(lines.joined(separator: "\n") + "\n", to: "Schemas/library/\(name).yaml")
        }
        schemas = try Schemas.load(directory.path + "/Schemas/library")
        noon = try #require(Timestamp("2026-03-01T12:00:00Z"))
    }

    /// A handle on the one store, such as another process or a later start has.
    private func open(at version: SchemaVersion? = 1, _ projections: [any SwiftProjection]? = nil) async throws -> Library {
        try await Library(
            EventStore.open(
                directory.path + "/store", creatingWith: schemas, version: version, projections: projections ?? lateness(),
                options: .forTests))
    }

    /// The same with two members.
    private func peopled() async throws -> Library {
        let library = try await open()
        for member in ["ada", "alan"] { try await join(member, "\(member)@example.org", library) }
        return library
    }

    private func join(_ member: String, _ mail: String, _ library: Library) async throws {
        let key = SymmetricKey(data: Data(repeating: 7, count: 32))
        try await library.join(member, mail: mail, key: key, request: EventID("join-\(member)"))
    }

    /// Does the same things at once, and says of each why it was refused; nil where it was not.
    private func atOnce(_ works: [@Sendable () async throws -> Void]) async throws -> [Refused?] {
        try await withThrowingTaskGroup(of: Refused?.self) { group in
            for work in works {
                group.addTask {
                    do { try await work() } catch let refused as Refused { return refused }
                    return nil
                }
            }
            return try await group.reduce(into: []) { $0.append($1) }
        }
    }

    private func bringBack(_ book: String, to library: Library, at time: Timestamp? = nil) async throws {
        try await library.store.append(BookReturned(book: book), to: StreamName("book-\(book)"), expecting: .exists, time: time)
    }

    private func reserve(_ book: String, for member: String, in library: Library) async throws {
        try await library.store.append(BookReserved(book: book, member: member), to: StreamName("line-\(book)"), expecting: .any)
    }

    // MARK: The page

    @Test("every block of Swift on the page stands in Library.swift, in the same order")
    func compiled() throws {
        func text(_ lines: String) -> String { lines.replacing(#/\n\s*/#, with: "\n") }
        var rest = text(try Checkout.text("Tests/DomainTests/Library.swift"))[...]
        let blocks = try DocPage("RecipesInSwift").blocks("swift")
        #expect(blocks.count >= 8)
        for block in blocks {
            let place = try #require(rest.range(of: text(block.text)), "line \(block.line)")
            rest = rest[place.upperBound...]
        }
    }

    @Test("the Swift types are what the version files say")
    func types() async throws {
        let library = try await open()
        let catalogue = try EventCatalogue {
            AddressTaken.self
            MemberJoined.self
            BookLent.self
            BookReturned.self
            BookReserved.self
            BookHeld.self
            HoldEnded.self
        }
        #expect(try catalogue.check(library.store) == [])
        #expect(try EventCatalogue { BookLentUntil.self }.check(schemas).filter { $0.severity == .error } == [])
        try await library.store.close()
    }

    // MARK: Several streams

    @Test("of two who lend the same books at the same moment one has all of them and the other none")
    func lending() async throws {
        let (one, two) = (try await peopled(), try await open())
        let due = noon
        for round in 1 ... 20 {
            let books = ["\(round)a", "\(round)b"]
            let outcomes = try await atOnce([
                { try await one.lend(books, to: "ada", until: due, request: EventID("ada-\(round)")) },
                { try await two.lend(books.reversed(), to: "alan", until: due, request: EventID("alan-\(round)")) },
            ])
            #expect(outcomes.filter { $0 == nil }.count == 1)
            let owners = try books.map { try one.store.read(BookLent.self, in: StreamName("book-\($0)")).map(\.event.member) }
            #expect(owners[0].count == 1 && owners[0] == owners[1])
        }
        try await one.store.close()
        try await two.store.close()
    }

    @Test("a request whose answer was lost is repeated after a restart, and lends once, whatever has become of the books")
    func repeatedRequest() async throws {
        let before = try await peopled()
        try await before.lend(["1", "2"], to: "ada", until: noon, request: EventID("r-1"))
        try await before.store.close()
        let library = try await open()
        try await library.lend(["1", "2"], to: "ada", until: noon, request: EventID("r-1"))
        try await bringBack("1", to: library)
        try await library.lend(["1"], to: "alan", until: noon, request: EventID("r-2"))
        let end = try library.store.last()
        try await library.lend(["1", "2"], to: "ada", until: noon, request: EventID("r-1"))
        #expect(try library.store.last() == end)
        try await library.store.close()
    }

    @Test("one book that is lent keeps the others in, and who is no member gets none")
    func refusals() async throws {
        let library = try await peopled()
        try await library.lend(["1"], to: "ada", until: noon, request: EventID("r-1"))
        await #expect(throws: Refused(why: "1 is lent")) {
            try await library.lend(["3", "1"], to: "alan", until: noon, request: EventID("r-2"))
        }
        #expect(try library.store.read(StreamName("book-3")).isEmpty)
        let nobody = EvstoreError.expectationFailed(stream: try StreamName("member-eve"), expected: .exists, actual: nil)
        await #expect(throws: nobody) { try await library.lend(["3"], to: "eve", until: noon, request: EventID("r-3")) }
        try await library.store.close()
    }

    // MARK: The order of an index

    @Test("what is overdue comes by its moment and page by page; without a lower bound come the books that are in, too")
    func order() async throws {
        let library = try await peopled()
        for number in 0 ..< 30 {
            let due = noon.later(days: Int64(number * 7 % 30))
            try await library.lend(["\(number)"], to: number % 2 == 0 ? "ada" : "alan", until: due, request: EventID("r-\(number)"))
        }
        try await bringBack("0", to: library)
        let now = noon.later(days: 25)
        let first = try await library.overdue(at: now)
        let second = try await library.overdue(at: now, after: first.next)
        let dues = (first.rows + second.rows).compactMap(\.value.due)
        #expect(first.rows.count == 20 && second.next == nil)
        #expect(dues == (1 ..< 25).map { noon.later(days: $0) })
        let unbounded = try await library.store.query("books", as: Book.self, index: "by-due", to: IndexValue("\(now)"))
        #expect(unbounded.rows.first == TypedRow(key: "0", value: Book(times: 1, member: nil, due: nil)) && unbounded.rows.count == 25)
        try await library.store.close()
    }

    // MARK: Uniqueness

    @Test("of many who join with one address at the same moment one is a member, and the others leave nothing")
    func racing() async throws {
        let (one, two) = (try await open(), try await open())
        let outcomes = try await atOnce(
            (1 ... 12).map { number in
                { try await join("\(number)", " Ada@example.ORG", number % 2 == 0 ? one : two) }
            })
        #expect(outcomes.filter { $0 == nil }.count == 1)
        let events = try one.store.all()
        #expect(events.map(\.type) == ["AddressTaken", "MemberJoined"])
        #expect(Set(outcomes.compactMap { $0?.why }) == ["\(events[0].stream) is taken"])
        try await one.store.close()
        try await two.store.close()
    }

    @Test("who joins once more after a restart, since the answer was lost, adds nothing; with another address it is another request")
    func joinedAgain() async throws {
        let before = try await open()
        try await join("1", "ada@example.org", before)
        try await before.store.close()
        let library = try await open()
        try await join("1", "ada@example.org", library)
        #expect(try library.store.all().count == 2)
        await #expect { try await join("1", "grace@example.org", library) } throws: { ($0 as? EvstoreError)?.code == "idReused" }
        await #expect(throws: Refused(why: "member-1 is taken")) {
            let key = SymmetricKey(size: .bits256)
            try await library.join("1", mail: "grace@example.org", key: key, request: EventID("join-2"))
        }
        try await library.store.close()
    }

    // MARK: Reacting to events

    private static var once: ConsumerOptions {
        var options = ConsumerOptions()
        options.endsAtLogEnd = true
        return options
    }

    @Test("a program that ends between its append and its place holds the book once, whoever has come into the line meanwhile")
    func endedBetween() async throws {
        let before = try await peopled()
        try await before.lend(["1"], to: "ada", until: noon, request: EventID("r-1"))
        try await reserve("1", for: "alan", in: before)
        try await bringBack("1", to: before, at: noon)
        try await before.holdBooks(Self.once)
        // The place as the disk has it where the process is killed behind the append.
        try await before.store.maintenance.resetConsumer("hold", to: .start)
        try await before.store.close()

        let library = try await open()
        try await reserve("1", for: "grace", in: library)
        try await library.holdBooks(Self.once)
        let held = try library.store.read(BookHeld.self, in: StreamName("line-1")).map(\.event)
        #expect(held.map(\.member) == ["alan"] && held.map(\.until) == [noon.later(days: 3)])
        let status = try #require(try library.store.consumers().first)
        #expect(status.handled == 2 && status.parked == 0 && status.lag == 0)
        try await library.store.close()
    }

    @Test("a book that was lent again before the consumer came to it is held for nobody; its next return is")
    func lentAgain() async throws {
        let library = try await peopled()
        try await library.lend(["1"], to: "ada", until: noon, request: EventID("r-1"))
        try await bringBack("1", to: library)
        try await library.lend(["1"], to: "ada", until: noon, request: EventID("r-2"))
        try await reserve("1", for: "alan", in: library)
        try await library.holdBooks(Self.once)
        #expect(try library.store.read(BookHeld.self, in: StreamName("line-1")).isEmpty)
        try await bringBack("1", to: library)
        try await library.holdBooks(Self.once)
        #expect(try library.store.read(BookHeld.self, in: StreamName("line-1")).map(\.event.member) == ["alan"])
        try await library.store.close()
    }

    // MARK: Timers

    @Test("a hold that was over while no program ran is ended once by the next look, of however many that look at once")
    func timers() async throws {
        let before = try await peopled()
        for book in ["1", "2"] {
            try await before.lend([book], to: "ada", until: noon, request: EventID("r-\(book)"))
            try await reserve(book, for: "alan", in: before)
            try await bringBack(book, to: before, at: book == "1" ? noon : noon.later(days: 1))
        }
        try await before.holdBooks(Self.once)
        try await before.store.close()

        let (one, two) = (try await open(), try await open())
        let over = noon.later(days: 3).microseconds
        for early in [over - 1_000_000, over + 1] { try await one.endHolds(at: Timestamp(microseconds: early)) }
        #expect(try await one.store.count("holds").rows == 2, "not over, and over within the second")
        let now = Timestamp(microseconds: over + 1_000_000)
        _ = try await atOnce((1 ... 8).map { number in { try await (number % 2 == 0 ? one : two).endHolds(at: now) } })
        #expect(try one.store.all(type: "HoldEnded").map(\.stream.text) == ["line-1"])
        #expect(try await one.store.query("holds").rows.map(\.key) == ["2"])
        try await one.store.close()
        try await two.store.close()
    }

    // MARK: Live views

    @Test("views go on over a migration and a rollback, of a named version and of the live one; finalize ends the one below the floor")
    func views() async throws {
        let library = try await peopled()
        let follower = try await open(at: nil)
        var named = library.watchBooks(of: "ada").makeAsyncIterator()
        var live = follower.watchBooks(of: "ada").makeAsyncIterator()
        #expect(try await named.next()?.rows == [])
        #expect(try await live.next()?.rows == [])
        for (round, version) in [1, 2, 1].enumerated() {
            if version == 2 { try await library.store.migrate(to: 2) }
            if round == 2 { try await library.store.rollback() }
            try await library.lend(["\(round)"], to: "ada", until: noon.later(days: Int64(round)), request: EventID("r-\(round)"))
            let shown = [try #require(await named.next()), try #require(await live.next())]
            for page in shown { #expect(page.rows.map(\.key) == (0 ... round).map(String.init)) }
            #expect(shown.map(\.note.version) == [1, SchemaVersion(version)])
        }
        try await library.store.migrate(to: 2)
        _ = try await library.store.finalize(2)
        await #expect { try await named.next() } throws: { ($0 as? EvstoreError)?.code == "belowFloor" }
        try await follower.store.close()
        try await library.store.close()
    }

    @Test("who has seen loans goes on behind them after a restart, and is told where a cut has taken them off")
    func loans() async throws {
        struct Enough: Error {}
        let before = try await peopled()
        _ = try await before.store.takeSnapshot("here")
        for book in 1 ... 4 { try await before.lend(["\(book)"], to: "ada", until: noon, request: EventID("r-\(book)")) }
        var (seen, place): ([String], Checkpoint?) = ([], nil)
        await #expect(throws: Enough.self) {
            try await before.watchLoans { loan, checkpoint in
                (seen, place) = (seen + [loan.book], checkpoint)
                if seen.count == 2 { throw Enough() }
            }
        }
        try await before.store.close()

        let library = try await open()
        await #expect(throws: Enough.self) {
            try await library.watchLoans(after: place) { loan, checkpoint in
                (seen, place) = (seen + [loan.book], checkpoint)
                if seen.count == 4 { throw Enough() }
            }
        }
        #expect(seen == ["1", "2", "3", "4"])
        _ = try await library.store.rollback(toSnapshot: "here", discardTail: true)
        await #expect { try await library.watchLoans(after: place) { _, _ in } } throws: { ($0 as? EvstoreError)?.code == "epochChanged" }
        try await library.store.close()
    }

    // MARK: Over versions

    @Test("a projection in Swift crosses to version 2 and back; a program with the newer code alone is told what it lacks")
    func crossing() async throws {
        let library = try await peopled()
        try await library.lend(["1"], to: "ada", until: noon, request: EventID("r-1"))
        try await bringBack("1", to: library, at: noon.later(days: 1))
        try await library.store.migrate(to: 2)
        let again = BookLentUntil(book: "1", member: "alan", until: noon.later(days: 2))
        try await library.store.append(again, to: StreamName("book-1"), expecting: .exists)
        try await bringBack("1", to: library, at: noon.later(days: 3))
        for version in [1, 2] as [SchemaVersion] {
            let row = try await library.store.query("lateness", at: version, as: Lateness.self, key: "1")
            #expect(row == Lateness(due: noon.later(days: 2), times: 2), "\(version)")
        }

        let newer = try await open(at: 2, [try #require(try lateness().last)])
        #expect(try await newer.store.query("lateness", as: Lateness.self, key: "1")?.times == 2)
        await #expect { try await newer.store.rollback() } throws: { ($0 as? EvstoreError)?.code == "programNeeded" }
        try await newer.store.close()
        try await library.store.rollback()
        #expect(try library.store.versions.live == 1)
        try await library.store.close()
    }

    @Test("code that is changed under a greater revision has its rows built by whoever asks first; under the same one they stay")
    func changedCode() async throws {
        func changed(_ revision: Int) throws -> [any SwiftProjection] {
            let projection = try TypedProjection("lateness", since: 1, revision: revision, row: Lateness.self) {
                RowHandler(BookLent.self, key: \.book) { _, _, _ in }
                RowHandler(BookReturned.self, key: \.book) { row, _, _ in row = Lateness(times: 100) }
            }
            return [projection]
        }
        let before = try await peopled()
        try await before.lend(["1"], to: "ada", until: noon, request: EventID("r-1"))
        try await bringBack("1", to: before, at: noon.later(days: 1))
        #expect(try await before.store.query("lateness", as: Lateness.self, key: "1")?.times == 1)
        try await before.store.close()
        for (revision, times) in [(1, 1), (2, 100)] {
            let library = try await open(at: 1, try changed(revision))
            #expect(try await library.store.query("lateness", as: Lateness.self, key: "1")?.times == times)
            try await library.store.close()
        }
    }
}
