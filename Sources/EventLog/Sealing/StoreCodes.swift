internal import Bytes
internal import EventModel
package import Sealing

/// Makes and checks the codes of a sealed store, from format 6 on: an attacker who can write its files but has none of its keys can
/// make every checksum and link right, but no code. Their keys are derived from the master key and the store's id, so that they
/// do not change with data keys and slots.
///
/// A code proves the place and not the time: an older row, block's end or file that is put back whole has a right one. A signed head
/// reveals that.
package struct StoreCodes: Sendable {
    /// Of rows: over u64 number of the table + 256 · bytes of the key, key, value.
    let rows: Authenticator
    /// Of blocks: over all that stands before it there.
    let blocks: Authenticator
    /// Of a backup's frames: over their links, which are over all frames up to there.
    package let frames: Authenticator

    init(_ ring: KeyRing) {
        rows = ring.authenticator(for: "codes of rows")
        blocks = ring.authenticator(for: "codes of blocks")
        frames = ring.authenticator(for: "codes of frames")
    }
}
