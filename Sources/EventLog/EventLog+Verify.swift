package import EventModel
internal import LMDB

extension EventLog {
    /// Looks at everything: the file's pages, checksums, chain and positions; with `deep` also pointers and the indexes
    /// against the log. `progress` gets events done and events in all.
    package func verify(deep: Bool, progress: (UInt64, UInt64) -> Void = { _, _ in }) throws -> [Finding] {
        var verifier = LogVerifier(access, overlays, options, deep: deep)
        do {
            do { try access.environment.checkStructure(tables: Tables.kinds) } catch let damage as StructureDamage {
                // LMDB must not follow such pages.
                verifier.note("STORE007", at: nil, "the log's own structure is damaged: log/data.mdb, \(damage)")
                return verifier.findings
            }
            while try access.environment.read({ try verifier.runChunk($0, progress) }) {}
        } catch let error as LMDBError where error.isDamage {
            verifier.note("STORE007", at: nil, "the log's own structure is damaged: \(error.message)")
        } catch let error as LMDBError { throw storeError(error, path, doing: "verifying the store") }
        return verifier.findings
    }
}
