#if EVSTORE_MUTANTS
    internal import Glibc
#endif

/// The checks that protect data from faults, by name. A build of mutants (`tools/mutants`) leaves out the one that the environment names,
/// to see which test fails without it; in every other build each is `true` and costs nothing.
package enum Guard: String, Sendable {
    // What LMDB does not do by itself.
    case registry, thread, reentry, fork, cloexec, readerCheck, grow, lockRoom, inPlace, lockKept, metaCheck
    // Requirements on the directory of a store and its file system.
    case fileSystem, permissions, owner, symlink, lifeSign
    // A disk that is full or fails.
    case floor, ballast, poison
    // Power cuts.
    case aheadSync, logSync, fileSync, directorySync, baseRestore, settling, takeover, durableBase
    // Writing ahead of LMDB, and reading what was written ahead.
    case laterBase
    // Damage.
    case anchor, turnNote, structure, blockChecksum, recordChecksum, rowChecksum, headRow, generationRow, generationPages
    // Changes to files by somebody without a key.
    case rowCode, blockCode, frameCode
    // Backups, salvage, signed heads.
    case frameLink, backupRead, salvageLink, headSignature, headEpoch, headLink, headState, headSeries
    // Files that are removed for good.
    case overwriting

    #if EVSTORE_MUTANTS
        private static let missing = unsafe getenv("EVSTORE_MUTANT").map { unsafe String(cString: $0) }

        package var isOn: Bool { rawValue != Self.missing }
    #else
        @inlinable
        package var isOn: Bool { true }
    #endif
}
