internal import LMDB

/// A type's number in this store; the same for as long as the store exists, whatever is cut.
package typealias TypeID = UInt32

/// The names of the type ids that this process has met. Ids never change their name.
package final class TypeNames: Sendable {
    private struct State {
        var names: [TypeID: String] = [:]
        var ids: [String: TypeID] = [:]
    }

    private let state = Monitor(State())

    subscript(id: TypeID) -> String? { state.withLock { $0.names[id] } }

    func knows(_ id: TypeID) -> Bool { state.withLock { $0.names[id] != nil } }

    func id(of name: String) -> TypeID? { state.withLock { $0.ids[name] } }

    func learn(_ id: TypeID, _ name: String) {
        state.withLock { state in
            state.names[id] = name
            state.ids[name] = id
        }
    }
}
