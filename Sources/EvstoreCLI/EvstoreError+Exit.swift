package import EventModel

/// An error that the command line has words and an exit code for.
protocol CommandError: Error {
    /// The message for people and for scripts.
    var report: ErrorDetails { get }
    /// A contract with scripts, listed on the page Errors.
    var exit: Int32 { get }
}

extension EvstoreError: CommandError {
    /// The exit code of a command that ends with it: a contract with scripts, listed on the page Errors.
    package var exit: Int32 {
        switch self {
        case .unsafePermissions, .unsafeFileSystem, .readOnly, .replica, .diskFull, .ioFailure, .misuse, .commitOutcomeUnknown: 1
        case .storeNotFound, .storeExists, .notAStore, .keysRefused, .keyUnusable, .unknownVersion, .unknownProjection, .unknownSnapshot,
            .unknownConsumer, .notInBackup, .otherBackup, .usage:
            2
        case .invalidStreamName, .invalidEventID, .invalidJSON, .invalidEvent, .invalidLine, .unknownType, .streamMismatch,
            .expectationFailed, .idReused, .eventTooLarge, .appendTooLarge, .versionNotAllowed, .noImage, .epochChanged, .versionDiffers,
            .keyNeeded, .policyRefused, .buildStopped, .invalidRow, .nothingToRollBackTo, .belowFloor, .notLive, .snapshotExists,
            .consumerStopped, .clusterMismatch:
            3
        case .locked, .deadlinePassed, .migrationInProgress, .logUnavailable: 5
        case .storeNewer, .otherLMDB, .schemaNewer, .programNeeded: 6
        case .storeDamaged, .corruptBlock, .backupDamaged, .nothingToSalvage, .signatureInvalid, .verificationFailed, .clusterWentBack,
            .clusterDamaged:
            7
        case .interrupted: 9
        case .consentNeeded: 10
        case .schemaInvalid(let findings): findings.exit
        case .refusedLine(_, _, let error), .refusedElement(_, _, _, let error): error.exit
        }
    }
}

extension [Finding] {
    /// The exit code of a command that is refused for these findings: the code for a newer format has priority.
    var exit: Int32 { hasNewerFormat ? 6 : 3 }
}
