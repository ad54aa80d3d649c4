import Evstore
import Foundation
import TestSupport
import Torturing

/// Appends by several callers at once, each noted when it has returned, in a process that ends without closing the store.
struct Appender {
    private static let callers = 3
    private let store: String
    private let acks: String
    private let seed: Int
    private let options: Options
    /// Whether each note is of a person of its own.
    private let areSealed: Bool

    init(_ store: String, acks: String, seed: Int, _ options: Options, areSealed: Bool) {
        (self.store, self.acks, self.seed, self.options, self.areSealed) = (store, acks, seed, options, areSealed)
    }

    /// The number that a caller's first event has.
    static func mark(_ seed: Int, caller: Int) -> Int { (seed % 300 * callers + caller) * 1_000_000 }

    /// A file that several processes write to, each line behind those that are there.
    static func notes(_ path: String) throws -> FileHandle {
        let descriptor = unsafe open(path, O_WRONLY | O_APPEND | O_CLOEXEC)
        guard descriptor >= 0 else { throw Failure("\(path) can't be opened: \(errno)") }
        return FileHandle(fileDescriptor: descriptor, closeOnDealloc: true)
    }

    /// A caller ends at its first failure, which it notes unless the outcome is not known.
    func run(appends: Int = 18) async throws -> Never {
        let store = try await EventStore.open(store, options: options)
        let acks = try Self.notes(acks)
        let refused = await withTaskGroup(of: String?.self) { group in
            for caller in 0 ..< Self.callers {
                group.addTask {
                    do { try await append(caller, appends, to: store, acks) } catch {
                        return error is EvstoreError ? nil : "\(error)"
                    }
                    return nil
                }
            }
            return await group.reduce(nil) { $0 ?? $1 }
        }
        if let refused { throw Failure(refused) }
        _exit(0)
    }

    private func append(_ caller: Int, _ appends: Int, to store: EventStore, _ acks: FileHandle) async throws {
        var chance = SeededGenerator(seed: UInt64(seed), "appender", caller)
        for number in 0 ..< appends {
            let mark = Self.mark(seed, caller: caller) + number * 10
            let count = Int.random(in: 0 ..< 5, using: &chance) == 0 ? 3 : 1
            let events = try (0 ..< count).map { try Note.event(mark + $0, stream: areSealed ? Note.person(mark + $0) : nil) }
            let receipt: AppendReceipt
            do { receipt = try await store.append(events) } catch {
                if error.code != "commitOutcomeUnknown" { acks.write(Data(Refusal(mark: mark, code: error.code).line.utf8)) }
                throw error
            }
            acks.write(Data("\(receipt.positions.lowerBound) \(mark) \(count)\n".utf8))
            // A pause in which LMDB takes what is ahead, and one in which it nearly does.
            let pause = Int.random(in: 0 ..< 40, using: &chance)
            if caller == 0, pause < 2 { try await Task.sleep(for: .milliseconds(pause == 0 ? 260 : 190)) }
        }
    }
}
