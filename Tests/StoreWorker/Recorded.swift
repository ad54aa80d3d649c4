import Evstore
import Foundation

/// Appends whose promises are kept beside the store, and what a store holds.
enum Recorded {
    /// Appends for as long as it is asked to, several callers at once, and ends without closing. Each promise is written
    /// down when it is made: the position, and the number that the event carries.
    static func append(to path: String, promises: String, appends: Int, seed: Int) async throws -> Never {
        let store = try await Worker.open(path)
        let acks = try FileHandle(forWritingTo: URL(filePath: promises))
        try acks.seekToEnd()
        await withThrowingTaskGroup(of: Void.self) { group in
            for caller in 0 ..< 3 {
                group.addTask {
                    var chance = UInt64(seed * 3 + caller + 1)
                    for number in 0 ..< appends {
                        chance = chance &* 6_364_136_223_846_793_005 &+ 1_442_695_040_888_963_407
                        let mark = (seed * 3 + caller) * 1_000_000 + number * 10
                        let isLarge = chance >> 40 % 3 == 0
                        let count = chance >> 50 % 5 == 0 ? 3 : 1
                        let text = String(repeating: "x", count: isLarge ? 30_000 : 20)
                        let receipt = try await store.append(try (0 ..< count).map { try Worker.note(mark + $0, text: text) })
                        acks.write(Data("\(receipt.positions.lowerBound) \(mark) \(count)\n".utf8))
                        // A pause that ends the round, and one that nearly does.
                        if caller == 0, number % 25 == 24 { try await Task.sleep(for: .milliseconds(number % 50 == 24 ? 260 : 190)) }
                    }
                }
            }
        }
        _exit(0)
    }

    /// Opens each store, as after a crash, and says what it holds: its path, whether it is sound, and the number of each event.
    static func judge(_ paths: [String]) async throws {
        for path in paths {
            do {
                let store = try await Worker.open(path)
                var numbers: [String] = []
                try store.readAll { event in
                    let json = try JSONSerialization.jsonObject(with: Data(event.payload)) as? [String: Any]
                    numbers.append(json?["id"] as? String ?? "?")
                    return true
                }
                let report = try await store.verify(deep: true)
                // The next append goes on where the log ends.
                let receipt = try await store.append([Worker.note(999_999_999)])
                let isNext = receipt.position.rawValue == UInt64(numbers.count + 1)
                try await store.close()
                print(path, report.ok && isNext ? "sound" : "unsound", numbers.joined(separator: ","))
            } catch { print(path, "refused:", error) }
        }
    }
}
