package import Bytes
package import EventModel
internal import Sealing

/// Seals lines that lie in files beside the log of a store whose events are sealed, and opens them. One per thread.
///
/// Their key is made of the master key: it is there as long as any slot is, whichever data keys are retired.
package final class LineSealer {
    private let key: DataKey
    private let storeID: StoreID
    private var sealer = RecordSealer()

    init(_ keys: StoreKeys, _ storeID: StoreID) {
        key = DataKey(id: 0, suite: .gcm, keys.key(for: "lines"))
        self.storeID = storeID
    }

    /// Appends the envelope of a line.
    package func seal(_ line: RawSpan, _ epoch: Epoch, _ position: Position, into envelope: inout ByteBuffer) throws(EvstoreError) {
        let (place, none) = (place(epoch, position), [UInt8]())
        do throws(SealError) {
            try sealer.seal(
                payload: line, metadata: none.lent, shadow: none.lent, personal: none.lent, under: key, place.lent, into: &envelope)
        } catch { throw .misuse("a line can't be sealed: \(error.reason)") }
    }

    /// Appends the line that was sealed.
    /// - Throws: `EvstoreError.invalidLine` where it was not sealed here, or is changed.
    package func open(_ envelope: RawSpan, _ epoch: Epoch, _ position: Position, into line: inout ByteBuffer) throws(EvstoreError) {
        let place = place(epoch, position)
        do throws(SealError) { _ = try sealer.open(envelope, under: key, place.lent, into: &line) } catch {
            throw .invalidLine(reason: "was sealed by another store, or changed since", pointer: "/sealed")
        }
    }

    private func place(_ epoch: Epoch, _ position: Position) -> [UInt8] {
        var binding = RecordBinding(storeID)
        binding.begin(epoch, position)
        return [UInt8](copying: binding.bytes)
    }
}

extension EventLog {
    /// Nil where the log's events are not sealed.
    package var lineSealer: LineSealer? { access.keys.map { LineSealer($0, storeID) } }
}
