import Bytes
import Foundation
import JSONText

// Decoding and encoding an event of 200 bytes: the coding of JSONText, Foundation's, and the plain scan of the bytes,
// in one run. Read the ratios; `swift run -c release --package-path tools/bench/decoding decoding [ROUNDS]`.

struct Placed: Codable, Equatable {
    struct Buyer: Codable, Equatable {
        var first: String
        var last: String?
    }
    struct Line: Codable, Equatable {
        var sku: String
        var count: Int
        var price: Double
    }

    var id: String
    var buyer: Buyer
    var lines: [Line]
    var currency: String
    var placedAt: String
    var isGift: Bool
    var note: String?
}

let text = Array(
    #"{"id":"0004711","buyer":{"first":"Ada","last":"Lovelace"},"lines":[{"sku":"A-17","count":2,"price":12.5},{"sku":"B-03","count":1,"price":7.25}],"currency":"EUR","placedAt":"2026-03-02T10:00:00Z","isGift":false}"#
        .utf8)
let rounds = CommandLine.arguments.dropFirst().first.flatMap { Int($0) } ?? 200_000
var measure = Measuring(rounds: rounds, unit: "the scan", width: 34)

let coding = JSONCoding()
let data = Data(text)
let (theirDecoder, theirEncoder) = (JSONDecoder(), JSONEncoder())
let value = try coding.decode(Placed.self, from: text)
guard try theirDecoder.decode(Placed.self, from: data) == value, try coding.decode(Placed.self, from: coding.encode(value)) == value else {
    print("the decoders differ")
    exit(1)
}
print("\(text.count) bytes, \(rounds) rounds")
let scan = try measure("scan and validate") { try JSONScanner.validate(text.lent) == .object ? 1 : 0 }
let ours = try measure("JSONCoding.decode", against: scan) { try coding.decode(Placed.self, from: text, hasUniqueNames: true).lines.count }
let checked = try measure("JSONCoding.decode, names checked", against: scan) { try coding.decode(Placed.self, from: text).lines.count }
let theirs = try measure("Foundation JSONDecoder", against: scan) { try theirDecoder.decode(Placed.self, from: data).lines.count }
let written = try measure("JSONCoding.encode", against: scan) { try coding.encode(value).count }
let theirWritten = try measure("Foundation JSONEncoder", against: scan) { try theirEncoder.encode(value).count }
print(
    String(
        format: "decoding %.1f x as fast as Foundation (%.1f with names checked), encoding %.1f x", theirs / ours, theirs / checked,
        theirWritten / written))
