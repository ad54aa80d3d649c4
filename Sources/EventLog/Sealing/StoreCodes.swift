internal import Bytes
internal import EventModel
package import Sealing

/// Makes and checks the codes of a sealed store, from format 6 on. An attacker who can write its files but has none of its keys can make
/// every checksum and link right, but no code. The keys of codes are derived from the master key and the store's id, so that they do not
/// change with data keys and slots.
///
/// A code proves the place and not the time: an older row, block or file that is put back unchanged has a right code. A signed head reveals
/// that.
package struct StoreCodes: Sendable {
    /// Codes of rows: over u64 number of the table + 256 · bytes of the key, key, value.
    let rows: Authenticator
    /// Codes of blocks: over all bytes before the code.
    let blocks: Authenticator
    /// Codes of a backup's frames: over their links, which cover all frames so far.
    package let frames: Authenticator

    init(_ ring: KeyRing) {
        rows = ring.authenticator(for: "codes of rows")
        blocks = ring.authenticator(for: "codes of blocks")
        frames = ring.authenticator(for: "codes of frames")
    }
}
