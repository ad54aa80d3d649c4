#if EVSTORE_MUTANTS
    internal import Glibc
#endif

/// The checks that protect the data from faults, each by its name. A build of mutants (`tools/mutants`) leaves out the one that the
/// environment names, to see which test fails without it; in every other build each is `true` and costs nothing.
package enum Guard: String, Sendable {
    // What LMDB does not do by itself.
    case registry, thread, reentry, fork, cloexec, readerCheck, grow, lockRoom, inPlace, lockKept, metaCheck
    // What is asked of the place where a store lies.
    case fileSystem, permissions, owner, symlink, lifeSign
    // A disk that is full or fails.
    case floor, ballast, poison
    // Power cuts.
    case aheadSync, logSync, fileSync, directorySync, baseRestore, settling, takeover, durableBase
    // Who writes ahead, and who reads that.
    case laterBase
    // Damage.
    case anchor, turnNote, structure, blockChecksum, recordChecksum, rowChecksum, headRow, generationRow, generationPages
    // Who changes files and has no key.
    case rowCode, blockCode, frameCode
    // Backups, salvage, signed heads.
    case frameLink, backupRead, salvageLink, headSignature, headEpoch, headLink, headState, headSeries
    // What is thrown away.
    case overwriting

    #if EVSTORE_MUTANTS
        private static let missing = unsafe getenv("EVSTORE_MUTANT").map { unsafe String(cString: $0) }

        package var isOn: Bool { rawValue != Self.missing }
    #else
        @inlinable
        package var isOn: Bool { true }
    #endif
}
