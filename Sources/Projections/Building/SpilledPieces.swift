internal import Bytes
internal import EventModel
internal import Sealing

/// The pieces of a spilled file, each sealed under a key that exists only in memory.
struct SpilledPieces: Sendable {
    private let sealer = ValueSealer.ephemeral()
    /// The size of each piece in the file.
    private var sizes: [Int] = []

    var count: Int { sizes.count }

    func size(_ number: Int) -> Int { sizes[number] }

    /// Seals the next piece in place.
    mutating func seal(_ piece: inout ByteBuffer) throws(EvstoreError) {
        var envelope = ByteBuffer(capacity: piece.count + ValueSealer.addedBytes)
        do throws(SealError) { try sealer.seal(piece.bytes, Self.place(sizes.count).lent, into: &envelope) } catch {
            throw .misuse("what is spilled can't be sealed: \(error.reason)")
        }
        sizes.append(envelope.count)
        piece = envelope
    }

    func open(_ envelope: [UInt8], _ number: Int) throws(EvstoreError) -> [UInt8] {
        var piece = ByteBuffer(capacity: envelope.count)
        do throws(SealError) { try sealer.open(envelope.lent, Self.place(number).lent, into: &piece) } catch {
            throw .ioFailure(doing: "reading what was spilled", reason: "it is not what was written")
        }
        return piece.array()
    }

    private static func place(_ number: Int) -> [UInt8] { (0 ..< 8).map { UInt8(truncatingIfNeeded: number >> ($0 * 8)) } }
}
