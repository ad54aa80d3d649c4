// What the page "Recipes in Swift" shows, block by block, as it stands there: LibraryTests try it.
import Crypto
import Evstore
import Foundation

/// Its type in the version files is called as it is here, and it is what version 1 says.
protocol LibraryEvent: Event {}
extension LibraryEvent {
    static var type: String { "\(Self.self)" }
    static var version: SchemaVersion { 1 }
}

struct AddressTaken: LibraryEvent { var hash, member: String }
struct MemberJoined: LibraryEvent { var member, mail: String }
struct BookLent: LibraryEvent { var book, member: String, due: Timestamp }
struct BookReturned: LibraryEvent { var book: String }
struct BookReserved: LibraryEvent { var book, member: String }
struct BookHeld: LibraryEvent { var book, member: String, until: Timestamp }
struct HoldEnded: LibraryEvent { var book, member: String }

/// Who waits for a book, and for whom it is held.
struct Line { var waiting: [String] = [], hold: BookHeld? }
struct Refused: Error, Equatable { var why: String }

struct Library: Sendable {
    let store: EventStore
    let loans: StreamFold<Bool>, lines: StreamFold<Line>

    init(_ store: EventStore) throws {
        self.store = store
        loans = try StreamFold("loan", revision: 1, initial: false) {
            StateHandler(BookLent.self) { isLent, _, _ in isLent = true }
            StateHandler(BookReturned.self) { isLent, _, _ in isLent = false }
        }
        lines = try StreamFold("line", revision: 1, initial: Line()) {
            StateHandler(BookReserved.self) { line, reserved, _ in line.waiting.append(reserved.member) }
            StateHandler(BookHeld.self) { line, held, _ in (line.waiting, line.hold) = (Array(line.waiting.dropFirst()), held) }
            StateHandler(HoldEnded.self) { line, _, _ in line.hold = nil }
        }
    }
}

extension Library {
    /// Lends books to a member, all of them or none; `request` is the id of what a client asked for.
    func lend(_ books: [String], to member: String, until due: Timestamp, request: EventID) async throws {
        while true {
            var conditions = [StreamCondition(try StreamName("member-\(member)"), .exists)]
            var (events, lent) = ([NewEvent](), nil as String?)
            for book in books {
                let stream = try StreamName("book-\(book)")
                let loan = try store.state(of: stream, loans)
                if loan.value { lent = book }
                // A book that is lent has events, so `.noStream` fails, unless the request was carried out before.
                conditions.append(loan.value ? StreamCondition(stream, .noStream) : loan.condition(on: stream))
                let event = BookLent(book: book, member: member, due: due)
                events.append(try NewEvent(event, to: stream, id: events.isEmpty ? request : nil))
            }
            do { try await store.append(events, conditions: conditions) } catch {
                guard case .expectationFailed(let stream, _, _) = error, stream != conditions[0].stream else { throw error }
                if let lent { throw Refused(why: "\(lent) is lent") }
                continue  // somebody was faster: look again, and decide anew
            }
            return
        }
    }
}

/// A row of `books`.
struct Book: Codable, Equatable, Sendable { var times: Int, member: String?, due: Timestamp? }

extension Library {
    /// What should be back by now, the longest overdue first: a page, behind the one that `cursor` came with.
    func overdue(at now: Timestamp, after cursor: QueryCursor? = nil) async throws -> QueryPage<TypedRow<Book>> {
        try await store.query("books", as: Book.self, index: "by-due", from: "", to: "\(now)", limit: 20, after: cursor)
    }
}

extension Timestamp {
    /// So much later, in whole seconds: texts that have all the same form sort as moments do.
    func later(days: Int64) -> Timestamp { Timestamp(microseconds: (microseconds / 1_000_000 + days * 86_400) * 1_000_000) }
}

extension Library {
    /// Makes somebody a member whose address nobody else has.
    func join(_ member: String, mail: String, key: SymmetricKey, request: EventID) async throws {
        let form = mail.lowercased().filter { !$0.isWhitespace }
        let code = HMAC<SHA256>.authenticationCode(for: Data(form.utf8), using: key)
        let hash = code.prefix(16).map { ($0 < 16 ? "0" : "") + String($0, radix: 16) }.joined()
        let events = [
            try NewEvent(AddressTaken(hash: hash, member: member), to: StreamName("address-\(hash)"), id: request),
            try NewEvent(MemberJoined(member: member, mail: mail), to: StreamName("member-\(member)")),
        ]
        do { try await store.append(events, conditions: events.map { StreamCondition($0.stream, .noStream) }) } catch {
            guard case .expectationFailed(let stream, _, _) = error else { throw error }
            throw Refused(why: "\(stream) is taken")
        }
    }
}

extension Library {
    /// Holds each book that comes back for whoever waits longest, until the task is cancelled.
    func holdBooks(_ options: ConsumerOptions = .init()) async throws {
        try await store.consume("hold", BookReturned.self, options: options) { returned, event, _ in
            let book = returned.book
            let stream = try StreamName("line-\(book)")
            let line = try store.state(of: stream, lines)
            guard let next = line.value.waiting.first else { return }
            let held = BookHeld(book: book, member: next, until: event.time.later(days: 3))
            let reaction = try NewEvent(held, to: stream, id: EventID("held-\(event.id)"))
            let isStillIn = StreamCondition(event.stream, .revision(event.revision))
            do throws(EvstoreError) {
                try await store.append([reaction], conditions: [line.condition(on: stream), isStillIn], sameID: .keepFirst)
            } catch {
                // Lent again meanwhile: there is nothing to hold. Anything else is tried again.
                guard case .expectationFailed(event.stream, _, _) = error else { throw error }
            }
        }
    }
}

extension Library {
    /// Ends the holds that are over.
    func endHolds(at now: Timestamp) async throws {
        for row in try await store.query("holds", index: "by-until", to: "\(now)").rows {
            // The row is a hint; what the line says is decided on.
            try await store.decide(on: StreamName("line-\(row.key)"), lines) { line in
                guard let hold = line.hold, hold.until <= now else { return [] }
                return [HoldEnded(book: hold.book, member: hold.member)]
            }
        }
    }
}

extension Library {
    /// What a member has: now, and after each change.
    func watchBooks(of member: String) -> Observation<QueryPage<TypedRow<Book>>> {
        store.observe("books", as: Book.self, index: "of-member", equals: [IndexValue(member)], limit: 50)
    }

    /// Every loan behind a place, then each as it is made, with the place to go on from.
    func watchLoans(after place: Checkpoint? = nil, _ show: (BookLent, Checkpoint) async throws -> Void) async throws {
        for try await event in store.subscribe(after: place, at: BookLent.version, matching: .type(BookLent.type)) {
            try await show(event.decode(), event.checkpoint)
        }
    }
}

/// What `BookLent` is at version 2.
struct BookLentUntil: Event {
    static let (type, version) = ("BookLent", SchemaVersion(2))
    var book, member: String, until: Timestamp
}

/// How often a book came back late: two moments are compared, which no fold of a file does.
struct Lateness: Codable, Equatable, Sendable { var due: Timestamp?, times = 0 }

func lateness() throws -> [any SwiftProjection] {
    let returned = RowHandler<Lateness>(BookReturned.self, key: \.book) { row, _, event in
        if let due = row?.due, event.time > due { row?.times += 1 }
    }
    let first = try TypedProjection("lateness", since: 1, revision: 1) {
        RowHandler(BookLent.self, key: \.book) { row, lent, _ in row = Lateness(due: lent.due, times: row?.times ?? 0) }
        returned
    }
    let second = try TypedProjection("lateness", since: 2, revision: 1) {
        RowHandler(BookLentUntil.self, key: \.book) { row, lent, _ in row = Lateness(due: lent.until, times: row?.times ?? 0) }
        returned
    }
    return [first, second]
}
