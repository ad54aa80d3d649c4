internal import Bytes
internal import EventModel
internal import Sealing

/// What makes the codes of a sealed store, from format 6 on, and checks them: whoever can write its files and has no key of it
/// can make every checksum and link right, but none of these. Their keys are made of the master key and the store's id, so that
/// they outlast every data key and every slot.
///
/// A code holds for its place, and not for a time: a row, a block's end or a file of before, put back whole, has a right one. A
/// signed head tells of that.
struct StoreCodes: Sendable {
    /// Of rows: over u64 number of the table + 256 · bytes of the key, key, value.
    let rows: Authenticator
    /// Of blocks: over all that stands before it there.
    let blocks: Authenticator
    /// Of a backup's frames: over their links, which are over all frames up to there.
    let frames: Authenticator

    init(_ ring: KeyRing) {
        rows = ring.authenticator(for: "codes of rows")
        blocks = ring.authenticator(for: "codes of blocks")
        frames = ring.authenticator(for: "codes of frames")
    }
}
