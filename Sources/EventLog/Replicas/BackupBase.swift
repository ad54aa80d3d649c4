package import EventModel
package import Hashing

/// Where the blocks of a backup's file end, and which frame ends them: a later backup continues from here.
package struct BackupBase: Hashable, Sendable {
    package var last: Checkpoint
    /// The link of the last block.
    package var link: Digest
    /// The number and the link of the frame that holds it.
    package var frame: UInt64
    package var frameLink: Digest

    package init(last: Checkpoint, link: Digest, frame: UInt64, frameLink: Digest) {
        (self.last, self.link, self.frame, self.frameLink) = (last, link, frame, frameLink)
    }
}
