// Appending: how events become durable. In the order of the calls:
//
// 1. `EventLog.append` hands an `AppendRequest` to the committer; the caller's task is suspended, unless it is alone and commits itself.
// 2. `CommitQueue.take` makes one batch of all waiting appends: group commit. `DeadlineTimer` refuses those that have waited too long.
// 3. `Committer.commit` makes one commit, on the thread whose turn it is, and answers the callers.
// 4. `CommitSession.commit` takes the batch under the writer's turn, so that appends which came meanwhile are part of it.
// 5. `Admission.admit` checks ids, expectations and conditions against the log as it is now, and assigns position, revision and the
//    pointers back in the stream.
// 6. `BlockWriter.add` puts the record into a block; `BlockDraft.complete` closes it: offsets, checksum, link to the block before.
// 7. `AheadWriter.write` makes quick commits durable ahead of LMDB, which takes them in later (`CommitSession.checkpoint`); LMDB makes all
//    other commits durable.
// 8. `AnchorFile.note` notes how far the log goes, for the file outside of it; `CommitSignal.announce` wakes those who wait for events.
