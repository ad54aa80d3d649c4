internal import Bytes
internal import EventLog
package import EventModel
internal import Hashing

extension RowMap {
    /// Fills a generation that `Generation.create` has made from the rows of another one, and marks it as ready, at the checkpoint of the
    /// source. It is proved that folding gives the same. Blocks until then. O(bytes of the rows).
    /// - Parameter rowsMax: maps only the first rows, up to this number, to measure the speed.
    /// - Returns: false if the source does not contain what its events produce: its quarantine is not empty, its digest does not match its
    ///   rows, or no event can have produced a value. The generation is then unfinished and must be removed.
    /// - Throws: `EvstoreError.interrupted`.
    package func build(
        _ target: (definition: Definition, generation: Generation), of source: Generation, rowsMax: UInt64 = .max,
        _ evolving: VersionedLog, _ job: Job
    ) throws(EvstoreError) -> Bool {
        try converting("building \(target.definition.name) from its rows", at: evolving.log.path) {
            try evolving.log.makeDurable()
            var load = try GenerationLoad(
                target.generation, target.definition, indexBytes: evolving.options.buildMemoryBytes / 4 * 3
            ) { try job.check() }
            var workspace = RowMap.Workspace()
            var (read, made, isFit) = (GenerationLoad.Sums(), GenerationLoad.Sums(), true)
            let all = try source.header.rows
            func report() { job.report("map", done: read.rows, total: all, target.definition.name) }
            let header = try source.scan { key, row in
                if read.rows == rowsMax { return false }
                read.rows += 1
                read.digest.insert(key: key, value: row)
                isFit = map(row, &workspace)
                guard isFit else { return false }
                made.rows += 1
                made.digest.insert(key: key, value: workspace.row.bytes)
                if try load.append(key, workspace.row) { report() }
                return true
            }
            let isSame = header.rows == read.rows && header.digest == read.digest.digest
            guard isFit, header.isReady, header.quarantined == 0, isSame || read.rows == rowsMax else { return false }
            try evolving.log.read { reader in try Follower.check(header.checkpoint, reader) }
            try load.finish(made, at: header.checkpoint)
            report()
            return true
        }
    }
}
