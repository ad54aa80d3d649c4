import Bytes
import EventModel
import Testing

@Suite("The words as types")
struct WordsTests {
    @Test("a stream name is printable ASCII without space, quotes, braces and backslash, at most 200 bytes")
    func streamNames() throws {
        for good in ["a", "order-42", "pkg-g++:amd64", "a%20b", String(repeating: "x", count: 200)] {
            #expect(try StreamName(good).text == good)
        }
        for bad in ["", " ", "a b", "a\"b", "{a}", "a\\b", "a\u{7}", "é", String(repeating: "x", count: 201)] {
            #expect(throws: EvstoreError.invalidStreamName(bad)) { try StreamName(bad) }
        }
    }

    @Test("the bytes of a name are judged eight at a time as each by itself", arguments: [1, 7, 8, 9, 15, 16, 17, 23, 199, 200])
    func nameBytes(count: Int) {
        for offset in Set([0, 1, count / 2, count - 2, count - 1]) where (0 ..< count).contains(offset) {
            for byte in UInt8.min ... UInt8.max {
                var name = (0 ..< count).map { UInt8(ascii: "a") + UInt8($0 % 26) }
                name[offset] = byte
                #expect(StreamName.isValid(name.lent) == StreamName.allows(byte), "\(byte) at \(offset) of \(count)")
            }
        }
        #expect(!StreamName.isValid([UInt8]().lent) && !StreamName.isValid([UInt8](repeating: 97, count: 201).lent))
    }

    @Test("made ids are version 7 UUIDs that sort by time, and canonical UUIDs take 16 bytes and come back the same")
    func eventIDs() throws {
        var generator = SystemRandomNumberGenerator()
        let early = EventID.make(at: Timestamp(microseconds: 1_700_000_000_000_000), using: &generator)
        let late = EventID.make(at: Timestamp(microseconds: 1_700_000_000_001_000), using: &generator)
        #expect(early.text < late.text)
        #expect(early.text.utf8.count == 36 && Array(early.text)[14] == "7" && "89ab".contains(Array(early.text)[19]))
        let halves = try #require(early.uuid)
        #expect(EventID(uuid: halves) == early)
        #expect(try EventID(early.text) == early && EventID(unchecked: early.text).text == early.text)
        #expect(try EventID("018bcfe5-6800-7abc-8def-0123456789ff").text == "018bcfe5-6800-7abc-8def-0123456789ff")
        #expect(try EventID("018BCFE5-6800-7000-8000-000000000000").uuid == nil)
        #expect(throws: EvstoreError.invalidEventID("")) { try EventID("") }
        #expect(throws: EvstoreError.self) { try EventID(String(repeating: "a", count: 65)) }
    }

    @Test(
        "a timestamp is written as RFC 3339 in UTC and read back",
        arguments: [
            (0, "1970-01-01T00:00:00Z"), (-1_000_000, "1969-12-31T23:59:59Z"), (951_782_400_000_000, "2000-02-29T00:00:00Z"),
            (1_767_225_600_000_000, "2026-01-01T00:00:00Z"), (1_767_225_600_120_000, "2026-01-01T00:00:00.120Z"),
            (1_767_225_600_000_001, "2026-01-01T00:00:00.000001Z"),
        ] as [(Int64, String)])
    func timestamps(microseconds: Int64, text: String) {
        #expect(Timestamp(microseconds: microseconds).description == text)
        #expect(Timestamp(text) == Timestamp(microseconds: microseconds))
    }

    @Test(
        "seconds are civil times and back, near and far",
        arguments: [
            (0, "1970-01-01"), (951_782_400, "2000-02-29"), (-62_167_219_200, "0000-01-01"), (-74_784_816_000, "-0400-03-01"),
            (-74_784_902_400, "-0400-02-29"), (253_402_214_400, "9999-12-31"), (126_227_808_951_782_400, "4000002000-02-29"),
            (-126_227_807_048_217_600, "-3999998000-02-29"),
        ] as [(Int64, String)])
    func civilTimes(seconds: Int64, day: String) {
        #expect(CivilTime(secondsSince1970: seconds).description == day + "T00:00:00")
        for near in [seconds - 86_401, seconds - 1, seconds, seconds + 86_399] {
            #expect(CivilTime(secondsSince1970: near).secondsSince1970 == near)
        }
    }

    @Test("offsets are taken off, and days that the calendar does not have are no times")
    func dateTimes() {
        #expect(Timestamp("2026-03-29T02:30:00+02:00") == Timestamp("2026-03-29T00:30:00Z"))
        for bad in [
            "2026-02-29T00:00:00Z", "2026-01-01 00:00:00Z", "2026-01-01T24:00:00Z", "2026-01-01T00:00:60Z", "2026-01-01T00:00:00",
            "2026-01-01T00:00:00.Z",
        ] {
            #expect(Timestamp(bad) == nil, "\(bad)")
        }
    }

    @Test("every error names its case and says something")
    func errors() {
        let errors: [EvstoreError] = [
            .storeNotFound(path: "p"), .notAStore(path: "p", reason: "r"), .storeNewer(path: "p", format: 2, known: 1),
            .storeDamaged(path: "p", reason: "r"), .locked(path: "p", holder: "h"), .diskFull(path: "p", freeBytes: 0),
            .invalidJSON(reason: "r", offset: 1), .expectationFailed(stream: StreamName(unchecked: "s"), expected: .noStream, actual: nil),
            .deadlinePassed(waited: .seconds(1), holder: "h"), .schemaInvalid([]), .programNeeded(what: "w"),
            .migrationInProgress(holder: "h"), .consentNeeded(what: "w", how: "h"), .interrupted(again: "a"), .usage("u"),
        ]
        for error in errors {
            #expect(Mirror(reflecting: error).children.first?.label == error.code)
            #expect(!error.message.isEmpty || error.code == "schemaInvalid")
        }
        let late = EvstoreError.deadlinePassed(waited: .seconds(30), holder: "process 1")
        #expect(late.message == "waited 30.0 s for the store; it is held by process 1")
    }

    @Test("a place in the log is read from the text that it is written as, and from no other")
    func checkpoints() {
        for place in [Checkpoint.start, Checkpoint(epoch: Epoch(3), position: Position(42)), Checkpoint(epoch: .first, position: .largest)]
        {
            #expect(Checkpoint(place.description) == place)
        }
        for text in ["", ":", "1", "1:", ":1", "0:1", "+1:2", "01:2", "1:02", "1:2:3", " 1:2", "1:18446744073709551615"] {
            #expect(Checkpoint(text) == nil, "\(text)")
        }
    }
}
