// What an operator does with a log: backups, restores, salvage, keys, forgetting and verification. Nothing here runs when a service
// appends, reads or migrates. In the order of the calls:
//
// A backup:
// 1. `Backup.run` locks the directory. `BackupDirectory.whole` returns the files of earlier runs that the new one shares, and
//    `EventLog.holds` says whether the log still has the block that they end with.
// 2. `EventLog.backUp` writes the later blocks as frames; `BackupPass.readBlocks` copies blocks, each time in a short transaction,
//    and `BackupRows.bodies` the rows that can't be made from blocks.
// 3. `FrameWriter.write` links each frame to the one before, so that none can be changed or left out unnoticed.
// 4. `EventLog.checkEnd` reads what was written. `BackupDirectory.finish` makes the run valid, and `BackupDirectory.prune` removes
//    old ones.
//
// A restore:
// 1. `Restore.run` opens the files of a run in their order, and `BackupDirectory.ledger`: what was forgotten since.
// 2. `EventLog.restore` fills a directory under a temporary name. `FrameReader.next` checks each frame, `Restoring.run` stores its
//    contents.
// 3. `LogUpdate.cut` ends the log at the requested point, in an epoch of its own.
// 4. The `LogBuilder` makes the indexes and verifies the log; `EventLog.make` gives the directory its name.
//
// A salvage:
// 1. `SalvageRun.run` calls `EventLog.salvage`; `SalvageSource.lock` keeps other processes out. The damaged log is read without LMDB.
// 2. `LogRemains.claims` lists where the log ended according to the anchor, to `log/ahead` and to the newest commit. `BlockSearch.run`
//    finds blocks by their own headers and checksums, without LMDB's tables.
// 3. `FoundLog.choose` follows the links back from the end, to tell which blocks belonged to the log and where there are gaps.
// 4. `SalvageWriter.run` copies them to a `LogBuilder`; if blocks in between are missing, `Renumbering.append` appends all events anew.
// 5. The `LogBuilder` adds the rows with valid digests or forms, makes the indexes and verifies the log.
//
// A store is reciphered in the steps of a salvage: `Recipher.run` and `EventLog.recipher` fill and finish a `LogBuilder`. `Forget.run`
// overwrites the keys of streams, then `SealedLineFiles.forget` the lines in files beside the log. `Verify.run` verifies a store,
// compares it with signed heads, and signs.
