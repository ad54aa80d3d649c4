// What an operator does with a log: backups, restores, salvage, keys, forgetting, and looking it over. Nothing here runs when a service
// appends, reads or migrates. In the order of the calls:
//
// A backup:
// 1. `Backup.run` takes the directory's lock. `BackupDirectory.whole` says which files of earlier runs the new one shares, and
//    `EventLog.holds` whether the log still has what they end with.
// 2. `EventLog.backUp` gives what came after them as frames; `BackupPass.readBlocks` copies blocks, each time in a short transaction,
//    and `BackupRows.bodies` the rows that no block has.
// 3. `FrameWriter.write` links each frame to the one before, so that none can be changed or left out unnoticed.
// 4. `EventLog.checkBackup` reads what was written. `BackupDirectory.finish` makes the run count, and `BackupDirectory.prune` removes
//    old ones.
//
// A restore:
// 1. `Restore.run` lines up the files of a run, with `BackupDirectory.ledger`: what was forgotten since.
// 2. `EventLog.restore` fills a directory that nobody else sees. `FrameReader.next` checks each frame, `Restoring.run` puts it where it
//    belongs.
// 3. `LogUpdate.cut` ends the log at the point that was asked for, in an epoch of its own.
// 4. `LogAccess.complete` makes the indexes and looks at everything; `EventLog.make` gives the store its name.
//
// A salvage:
// 1. `SalvageRun.run` calls `EventLog.salvage`; `SalvageSource.lock` keeps everybody out. The damaged log is read without LMDB.
// 2. `LogRemains.claims` is what the anchor, `log/ahead` and the newest commit tell of the log's end. `BlockHunt.run` finds blocks by
//    what they say of themselves, whatever leads to them.
// 3. `FoundLog.choose` follows the links from the end backwards: which of the blocks were the log, and where there are gaps.
// 4. `SalvageWriting.run` copies them to a `NewLog`; where some are missing between others, `Renumbering.append` appends all anew.
// 5. `NewLog.finish` adds the rows that can be believed, completes the log and looks at everything.
//
// New keys take the way of a salvage: `Recipher.run`, `EventLog.recipher`, `NewLog.fill`, `NewLog.finish`. `Forget.run` overwrites the
// keys of streams, then `SealedLineFiles.forget` what lies beside the log. `Verify.run` looks a store over, compares it with signed
// heads, and signs.
