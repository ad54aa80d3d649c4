internal import EventModel
internal import Platform
internal import Synchronization

/// A type's number in this store; the same for as long as the store exists, whatever is cut.
package typealias TypeID = UInt32

/// The names of the types that this process has met, by id. An id never changes its name.
package final class TypeNames: Sendable {
    private struct State {
        var names: [TypeID: String] = [:]
        var ids: [Name: TypeID] = [:]
    }

    private let state = Monitor(State())
    /// All ids from 1 to this one are known, which is nearly always all of them: asking takes no lock.
    private let through = Atomic<TypeID>(0)

    package subscript(id: TypeID) -> String? { state.withLock { $0.names[id] } }

    func knows(_ id: TypeID) -> Bool {
        id > 0 && id <= through.load(ordering: .acquiring) || state.withLock { $0.names[id] != nil }
    }

    func id(of name: String) -> TypeID? { state.withLock { $0.ids[name] } }

    package func learn(_ id: TypeID, _ name: String) {
        state.withLock { state in
            state.names[id] = name
            state.ids[name] = id
            var last = through.load(ordering: .relaxed)
            while state.names[last + 1] != nil { last += 1 }
            through.store(last, ordering: .releasing)
        }
    }
}
