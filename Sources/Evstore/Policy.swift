/// What opening a store does where the live version is not the program's version.
public enum Policy: Sendable, Hashable {
    /// Opens at any version in floor…top; refuses other versions with `policyRefused`, which says what to do.
    case require
    /// Replays to the program's version where it is above the top and `when` allows it, then opens. On a node of a cluster log it also does
    /// so where another node has promised the version and this node was not rolled back from it. Where another process migrates, it waits
    /// for that one, at most `Options.migrationDeadline`.
    ///
    /// `yes` gives the consent of `MigrationOptions.yes`: without it a replay that needs consent is refused.
    case migrate(
        when: MigrateWhen = .always, onError: MigrateOnError = .stop, keepWindow: WindowPolicy = .untilFinalize, yes: Bool = false)
    /// Opens at any version and converts events as far as there are steps; never changes a version.
    case observe

    /// The condition under which opening a store replays.
    public enum MigrateWhen: Sendable, Hashable {
        case always
        /// Only where no step on the way needs consent: no step is one-way, none keeps programs that lack it from appending, and no loss is
        /// undeclared.
        case lossless
        /// Only where the log has at most this many events; a larger log is refused as by `.require`.
        case atMost(events: UInt64)
    }

    /// What a replay at opening does with an event that has no image.
    public enum MigrateOnError: Sendable, Hashable {
        /// Refuses to open; nothing changes.
        case stop
        /// Lists the event in the quarantine and continues.
        case quarantine
        /// Opens with the read models at the old version; the journal keeps the report.
        case openAnyway
    }

    /// How long rollbacks stay possible.
    public enum WindowPolicy: Sendable, Hashable {
        case untilFinalize
        /// After the replay, the version that was live before becomes the floor if that leaves this many versions to go back by.
        case releases(Int)
    }
}
