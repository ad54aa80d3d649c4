// Building: how read models are made from the log, and kept at its end. A replay, in the order of the calls:
//
// 1. `BulkBuild.run` begins with the generations; `BuildRun` makes partitions of their rows, and the workers.
// 2. `BuildRun.passLog` reads the log once for all of them; `BuildPass.run` takes chunks, in order, through the stages.
// 3. `ChunkWorker.prepare` reads the blocks of a chunk; `EventPreparer.prepare` views each event once and records what it does to rows.
// 4. `RowPartition.apply` folds the operations of a key, in the order of the log.
// 5. `BuildRun.complete` loads the sorted rows, syncs, and marks the generation ready.
//
// What comes afterwards is followed: `Follower.catchUp` goes in batches, and `FollowBatch.run` puts rows and checkpoint into one
// transaction.
