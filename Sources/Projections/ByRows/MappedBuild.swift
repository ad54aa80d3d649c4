internal import Bytes
internal import EventLog
package import EventModel
internal import Hashing

/// Builds a generation from the rows of another one, by a proved function of them.
package struct MappedBuild: Sendable {
    package typealias Place = (definition: Definition, generation: Generation)

    private let evolving: EvolvingLog
    private let map: RowMap
    /// An empty generation, that `Generation.create` made.
    private let target: Place
    private let source: Generation

    package init(_ evolving: EvolvingLog, _ map: RowMap, of source: Generation, into target: Place) {
        (self.evolving, self.map, self.source, self.target) = (evolving, map, source, target)
    }

    /// Maps all rows and marks the generation ready, as of the moment of the source; blocks until then. O(bytes of the rows).
    /// - Parameter rowsMax: maps only so many of the first, to measure how long that takes.
    /// - Returns: false where the source does not hold what its events give: its quarantine is not empty, its digest is not that of its rows,
    ///   or a value is none that an event gives. Then the generation is left as it is, and has to be removed.
    /// - Throws: `EvstoreError.interrupted`.
    package func run(rowsMax: UInt64 = .max, _ job: Job) throws(EvstoreError) -> Bool {
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
                isFit = map.map(row, &workspace)
                guard isFit else { return false }
                made.rows += 1
                made.digest.insert(key: key, value: workspace.row.bytes)
                if try load.append(key, workspace.row) { report() }
                return true
            }
            let isSame = header.rows == read.rows && header.digest == read.digest.digest
            guard isFit, header.isReady, header.quarantined == 0, isSame || read.rows == rowsMax else { return false }
            try evolving.log.read { reader in try Follower.check(header.checkpoint, reader) }
            _ = try load.finish(made, at: header.checkpoint)
            report()
            return true
        }
    }
}
