public import EventModel
package import SchemaEvolution

/// The options of a replay.
public struct MigrationOptions: Hashable, Sendable {
    /// Does all of the work from events in a scratch directory, discards it, and changes nothing.
    public var dryRun: Bool
    /// Builds only this projection, and does not flip.
    public var only: String?
    /// Builds every read model from its events, including those that would be kept or made from rows: this repairs wrong rows.
    public var fromEvents: Bool
    /// The number of worker threads; `Options.replayJobs` where nil.
    public var jobs: Int?
    public var onError: FailureRule
    /// Consents to one-way steps, to appends that programs without a Swift step can no longer make, and to losses that no step declares.
    public var yes: Bool
    /// Whether a row that violates its shape stops the replay.
    package var refusesRows = true

    public init(
        dryRun: Bool = false, only: String? = nil, fromEvents: Bool = false, jobs: Int? = nil, onError: FailureRule = .stop,
        yes: Bool = false
    ) {
        (self.dryRun, self.only, self.fromEvents, self.jobs) = (dryRun, only, fromEvents, jobs)
        (self.onError, self.yes) = (onError, yes)
    }
}

/// What a replay did.
public struct MigrationReport: Hashable, Sendable {
    public var from: SchemaVersion
    public var to: SchemaVersion
    /// The last position at the flip; where nothing was flipped, the end of what was read.
    public var position: Position = .start
    /// Events that the builds read, each counted once however many projections read it; 0 where all were made from rows.
    public var events: UInt64 = 0
    /// The number of these events that were born at a version other than `to`.
    public var upcast: UInt64 = 0
    /// Read models that were built, by name; empty where the version was already live.
    public var rebuilt: [String] = []
    /// Those of `rebuilt` that were made from the rows of the version before instead of from events, by name.
    public var fromRows: [String] = []
    /// The number of rows that these were made from.
    public var rows: UInt64 = 0
    /// Read models that stayed as they are, by name.
    public var carried: [String] = []
    /// Events that at least one read model has in quarantine, each counted once.
    public var quarantined: UInt64 = 0
    /// How long it took.
    public var duration: Duration = .zero
    /// How many of `events` were read in each second of `duration`.
    public var eventsPerSecond: Double = 0
    /// How long writers waited for the flip; nil where nothing was flipped.
    public var flipPause: Duration?
    package var flipBegan: Timestamp?
    /// The snapshot that was taken before; nil where there is none.
    public var snapshot: String?
    /// Events that were appended while the read models were built.
    public var arrived: UInt64 = 0
    /// The digest of each read model of the target version, built or carried, by projection, in hexadecimal digits.
    public var digests: [String: String] = [:]
}

/// What a rollback did.
public struct RollbackReport: Hashable, Sendable {
    public var from: SchemaVersion
    public var to: SchemaVersion
    /// Events that were appended since the flip that is undone; all of them are kept. For a cut: the events that it took off.
    public var tail: UInt64 = 0
    /// How long it took.
    public var duration: Duration = .zero
    public var position: Position
    /// Read models that were no longer on the disk and were rebuilt, by name.
    public var rebuilt: [String] = []
    /// Read models that were left behind until their program opens the store, by name.
    public var without: [String] = []
    /// What the older version does not show of the events born above it; nil where that could not be determined, and for a cut.
    public var loss: [PlannedLoss]?
    /// The number of events born above the older version, and how many of them were examined for `loss`.
    public var bornAbove: UInt64 = 0
    public var sample: UInt64 = 0
    /// How long writers waited for the flip; zero where nothing was flipped.
    public var flipPause: Duration = .zero
    /// When the flip began; nil where nothing was flipped.
    package var flipBegan: Timestamp?
    /// The archive of the events that a cut took off; nil otherwise.
    public var archive: String?
    /// The floor, where a rollback to a snapshot has lowered it to that of the snapshot; nil otherwise.
    public var floor: SchemaVersion?
    /// The other nodes of the cluster log that a rollback to a snapshot brings down to its version, by name.
    public var nodes: [String] = []
    /// Read models that differ from the snapshot's record after a cut, by name.
    public var differing: [String] = []
    /// Read models that differ from it because personal data was forgotten since the snapshot, by name. The store is sound.
    public var forgotten: [String] = []
}

/// The result of `finalize`.
public struct FinalizeReport: Hashable, Sendable {
    public var floor: SchemaVersion
    /// The newest version that is promised: the floor, but for a node of a cluster log while another node works above it.
    public var top: SchemaVersion
    /// The number of generations that were deleted because no promised version names them.
    public var pruned: Int
}

/// The result of a drill.
public struct DrillReport: Hashable, Sendable {
    /// Whether every step and every law that was tried held.
    public var passed = false
    public var steps: [DrillStep] = []
    public var laws: [LawCount] = []
    /// What the drill proves nothing about, each in a few words.
    public var notExercised: [String] = []
    /// The version that it rolled back to, and the one that it came from; nil where no migration could be rehearsed.
    public var from: SchemaVersion?
    public var to: SchemaVersion?
    /// The position of the store's last event when it was copied.
    public var position: Position
    /// Events that were generated for the newer version from events of the store, and that the rollback kept.
    public var appended: UInt64 = 0
    /// Generated events that the gate refused, since the older version could not have shown them.
    public var refused: UInt64 = 0
    public var loss: [PlannedLoss] = []
    public var quarantined: UInt64 = 0
    /// How long the restore from the backup took, including the building of the live version's read models.
    public var recovery: Duration?
    /// The number of the store's events that the backup lacks.
    public var recoveryPointEvents: UInt64?
    /// The seed of the generated events.
    public var seed: UInt64
    /// The path of the report.
    public var report: String = ""

    public init(position: Position, seed: UInt64) { (self.position, self.seed) = (position, seed) }
}

/// One step of a drill: a claim, and whether it held.
public struct DrillStep: Hashable, Sendable {
    public var name: String
    public var ok: Bool
    /// How long it took.
    public var duration: Duration
    /// The result, or what went wrong.
    public var detail: String
    /// The error of a failed step; `verificationFailed` where the claim did not hold.
    public var error: EvstoreError?

    public init(name: String, ok: Bool, duration: Duration, detail: String, error: EvstoreError? = nil) {
        (self.name, self.ok, self.duration, self.detail, self.error) = (name, ok, duration, detail, error)
    }
}

/// The result of adopting data from before versions existed: it is stored unchanged, and read by the cases of `adopt:`.
public struct AdoptionReport: Hashable, Sendable {
    /// Events of version 0.
    public var events: UInt64
    /// Members that are kept, under their own or another name.
    public var kept: UInt64 = 0
    /// Members that were missing and got a default.
    public var defaulted: UInt64 = 0
    /// How many times each member, by its pointer, is not kept.
    public var notKept: [String: UInt64] = [:]
    /// Events that fit no case, or whose members do not fit: they have no image, and are listed in the quarantine.
    public var quarantined: UInt64 = 0
    /// Events that are adopted and whose stream stays `$unknown`, since neither they nor a template name one.
    public var unnamed: UInt64 = 0
    /// The first lines of an import whose stream a template was to name and does not, at most `linesMax`; a plan lists none.
    public var unnamedLines: [UnnamedLine] = []

    public static let linesMax = 1_000

    public init(events: UInt64 = 0) { self.events = events }

    /// Reports one event that is adopted.
    package init(_ result: AdoptionResult) {
        (events, kept, defaulted) = (1, UInt64(result.counts.kept), UInt64(result.counts.defaulted))
        notKept = result.leftBehind.mapValues { UInt64($0) }
    }

    package mutating func add(_ other: AdoptionReport) {
        events += other.events
        kept += other.kept
        defaulted += other.defaulted
        notKept.merge(other.notKept, uniquingKeysWith: +)
        quarantined += other.quarantined
        unnamed += other.unnamed
        unnamedLines += other.unnamedLines.prefix(max(0, Self.linesMax - unnamedLines.count))
    }
}

/// A line that is adopted and whose stream stays `$unknown`, since the template does not name one.
public struct UnnamedLine: Hashable, Sendable {
    /// The number of the line, or of the element of a document, from 1.
    public var line: UInt64
    /// The type as which it is adopted.
    public var type: String
    /// A pointer to the member that the template needs.
    public var pointer: String
    /// What is wrong with the member: `should be …, found …`.
    public var reason: String

    package init(line: UInt64, type: String, pointer: String, reason: String) {
        (self.line, self.type, self.pointer, self.reason) = (line, type, pointer, reason)
    }
}

/// The plan of a replay, or of a rollback where the version is lower; making it changes nothing.
public struct PlanReport: Hashable, Sendable {
    public var from: SchemaVersion
    public var to: SchemaVersion
    /// Events that the builds read, or that an existing read model lacks; 0 where there are none.
    public var events: UInt64 = 0
    /// Projections whose read models are built, by name.
    public var rebuild: [String] = []
    /// The source of each of `rebuild`; for a rollback it is always events.
    public var ways: [PlannedWay] = []
    /// Projections that stay as they are because no step on the way touches what they read; for a rollback, those that exist.
    public var carry: [String] = []
    /// Those of `rebuild` that the live version does not have.
    public var new: [String] = []
    /// Projections that the live version has and `to` lacks.
    public var gone: [String] = []
    /// For a rollback, the events since the flip that is undone: the rollback keeps them.
    public var tail: UInt64 = 0
    /// The number of rows of the existing read models.
    public var rows: UInt64 = 0
    /// The losses of the steps on the way, and the data of events newer than `to` that it does not show.
    public var loss: [PlannedLoss] = []
    /// Events that were born above `to`: a rollback shows them through the steps down.
    public var bornAbove: UInt64 = 0
    /// The result of adopting the sample's events from before versions existed; nil where there are none.
    public var adoption: AdoptionReport?
    /// Steps without a way down, each as `v5: reason`.
    public var oneWay: [String] = []
    /// Swift steps that this program lacks: it can't replay past them, and their effects are not measured.
    public var needs: [String] = []
    /// Events that programs without a Swift step can no longer append once the version is live, whichever version they work at: the gate
    /// needs the step for each such event. A replay asks for consent to this.
    public var appendsRefused: [RefusedAppends] = []
    /// How long it would take, an estimate; zero where nothing is to be built.
    public var duration: Duration = .zero
    /// The estimated additional disk space in bytes.
    public var bytes: UInt64 = 0
    /// The number of events that were examined: for the estimate and the losses; for a rollback for the losses only.
    public var sample: UInt64 = 0
    /// What happens to the events of each type and birth version.
    public var types: [PlannedType] = []
    /// The widest class among the steps on the way: iso, widen, narrow or partial.
    public var opClass = "iso"
    /// Events in the quarantine of read models that are carried over, each counted once. Where a replay has some, the command exits with 8.
    public var quarantined: UInt64 = 0
    /// Events that only the replay examines, and that may have no image: those whose type a step changes and that a read model to be built
    /// consumes, beyond the sample and the first events of the log.
    public var notSeen: UInt64 = 0
    /// Whether the replay or rollback has anything to do.
    public var pending = false
    /// Why a replay with these options, or a rollback, would stop, in the order in which it would find out.
    public var refused: [PlannedRefusal] = []
    /// The rollback that is planned, or the one that would be possible after the planned replay.
    public var rollback = PlannedRollback()

    /// Whether the plan is for a rollback.
    public var isRollback: Bool { to < from }
}

/// The source of a read model.
public struct PlannedWay: Hashable, Sendable {
    public var projection: String
    /// The number of rows of the live version that it is made from; nil where it is made from events.
    public var rows: UInt64?
    /// Why it is not made from rows, as a clause; nil where it is, or where the live version has none.
    public var because: String?
}

/// The target of a rollback, and the programs that it would not serve.
public struct PlannedRollback: Hashable, Sendable {
    /// Nil where no rollback is possible.
    public var to: SchemaVersion?
    /// Why the rollback would be refused; nil where it would not.
    public var refused: PlannedRefusal?
    /// Swift read models of the target version that this program lacks: it has to leave them behind (`without`).
    public var without: [String] = []
    /// Events that programs without a Swift step could not read at the target version.
    public var readsRefused: [RefusedReads] = []
}

/// The events that no program without a step can read at an older version.
public struct RefusedReads: Hashable, Sendable {
    /// The step in words.
    public var step: String
    /// The event types, by their names at their birth versions.
    public var types: [String]
    /// The current number of such events.
    public var events: UInt64
}

/// Why a replay or a rollback would be refused.
public struct PlannedRefusal: Hashable, Sendable {
    /// The error that it would end with.
    public var error: EvstoreError

    public var code: String { error.code }
    public var message: String { error.message }
    public var fix: String? { error.fix }
}

/// The events that no program without a step can append.
public struct RefusedAppends: Hashable, Sendable {
    /// The step in words.
    public var step: String
    /// The event types, by their names at the promised versions below the target.
    public var types: [String]
}

/// What happens to the events of one type and birth version.
public struct PlannedType: Hashable, Sendable {
    public var type: String
    public var born: SchemaVersion
    public var count: UInt64
    /// The types that they may have at the target; empty where a step drops or hides them.
    public var becomes: [String]
    /// The ops on the way in a few words, such as `move x2, split`; `unchanged` where there are none.
    public var changes: String
    /// The number of events of this type in the sample that have no image.
    public var failures: UInt64
    /// Why events of the type go through their ops one by one, at about a third of the speed of one pass; nil where they don't.
    public var opByOp: String?
}

/// What one op of a step may lose.
public struct PlannedLoss: Hashable, Sendable {
    public var version: SchemaVersion
    public var type: String
    public var what: String
    /// Whether the step says why (`because`, `hide`).
    public var declared: Bool
    /// Whether a replay asks for consent: the loss is on the way up, no step declares it, and it is more than another form of a value.
    public var asks: Bool
    /// The number of events in the sample that lost something here.
    public var count: UInt64
    /// The first of these events; nil where there is none.
    public var first: Position?
}

/// A named restore point.
public struct SnapshotReport: Hashable, Sendable {
    public var name: String
    public var position: Position
    public var epoch: Epoch
    /// The store's version numbers at that time (`StoreVersions`): the oldest version that was promised.
    public var floor: SchemaVersion
    /// The version whose read models were the default.
    public var live: SchemaVersion
    /// The highest version that had been live since the floor moved.
    public var top: SchemaVersion
    /// The newest version that the store knew.
    public var head: SchemaVersion
    public var time: Timestamp
    /// The hash chain's link at the position, in hexadecimal digits.
    public var link: String
    /// The read models of the live version at that time.
    public var generations: [SnapshotGeneration]
    /// Whether a later cut has removed events that the snapshot includes: no rollback leads back to it.
    public var isCutOff = false
}

/// One read model as a snapshot records it.
public struct SnapshotGeneration: Hashable, Sendable {
    public var projection: String
    /// The fingerprint in hexadecimal digits.
    public var fingerprint: String
    /// The name of its directory.
    public var directory: String
    /// The digest of its rows at exactly the snapshot's position, in hexadecimal digits; nil where it was not at that position.
    public var digest: String?
    public var rows: UInt64
}

/// The kind of a journal row. A newer program may write other kinds.
public struct JournalKind: RawRepresentable, Hashable, Sendable, Codable, CustomStringConvertible {
    /// The value of `what` in the journal.
    public let rawValue: String

    public init(rawValue: String) { self.rawValue = rawValue }
    public var description: String { rawValue }
    private init(_ rawValue: String) { self.rawValue = rawValue }

    /// Versions or definitions were registered.
    public static let register = Self("register")
    /// A snapshot was taken, or some were removed.
    public static let snapshot = Self("snapshot")
    public static let replay = Self("replay")
    /// A version went live by a replay.
    public static let flip = Self("flip")
    public static let rollback = Self("rollback")
    /// Events were taken off the log, into the archive.
    public static let cut = Self("cut")
    public static let finalize = Self("finalize")
    /// Read models that lacked events were rebuilt.
    public static let retry = Self("retry")
    /// Read models that were missing were built.
    public static let complete = Self("complete")
    public static let drill = Self("drill")
    public static let restore = Self("restore")
    public static let salvage = Self("salvage")
    public static let promote = Self("promote")
    public static let key = Self("key")
    public static let recipher = Self("recipher")
    public static let forget = Self("forget")
    public static let consumer = Self("consumer")
}

/// One line of the journal.
public struct JournalRow: Hashable, Sendable {
    public var number: UInt64
    public var time: Timestamp
    public var kind: JournalKind
    public var from: SchemaVersion?
    public var to: SchemaVersion?
    public var position: Position?
    /// How long it took; nil for what is not measured.
    public var duration: Duration?
    /// The bytes on the disk of the read models that went live.
    public var readModelBytes: UInt64?
    public var outcome: String
    /// The user and the process.
    public var by: String
    /// A digest of the result in hexadecimal digits; nil where there is none.
    public var digest: String?
}

/// One event that a read model could not take in.
public struct QuarantineReport: Hashable, Sendable {
    public var projection: String
    public var position: Position
    /// The type that it was stored as.
    public var type: String
    public var error: String
}

/// What a retry of the quarantine did.
public struct QuarantineRetryReport: Hashable, Sendable {
    /// Read models that were rebuilt under the same version, by name.
    public var rebuilt: [String]
    /// Rows of the quarantine before, as `EventStore.quarantine` lists them: an event has one for each read model that lacks it.
    public var before: UInt64
    /// The rows that are left.
    public var after: UInt64
}

/// How often a law was tried, and how often it did not hold.
public struct LawCount: Hashable, Sendable {
    /// T-up, T-down, or L1 to L8.
    public var law: String
    /// The number of events, each counted once for each version that it was seen at; for L6 and L7, of read models.
    public var tried: UInt64
    public var failed: UInt64
    /// For L1 and L2: events that did not come back unchanged because a step declares it, because a value was not in its codec's own form,
    /// or, in a drill, because of a loss that is accepted. They count as no failure.
    public var lossy: UInt64
}

/// The events that the laws were tried on, each counted once for each version that it was seen at.
public struct LawCases: Hashable, Sendable {
    public var log: UInt64
    /// Events that adoption made of the log's data from before versions existed.
    public var adopted: UInt64
    /// Events made from the shapes.
    public var generated: UInt64
    /// Events made from events of the log.
    public var mutated: UInt64
    /// Events outside the log that a step refused which may refuse some.
    public var refused: UInt64
    /// Events at the beginning of the log from which read models were built for comparison.
    public var replayed: UInt64

    package init(
        log: UInt64 = 0, adopted: UInt64 = 0, generated: UInt64 = 0, mutated: UInt64 = 0, refused: UInt64 = 0, replayed: UInt64 = 0
    ) {
        (self.log, self.adopted, self.generated, self.mutated) = (log, adopted, generated, mutated)
        (self.refused, self.replayed) = (refused, replayed)
    }
}

/// The number of events that went through an op of a step, in each direction.
public struct OpCount: Hashable, Sendable {
    public var version: SchemaVersion
    public var op: String
    public var up: UInt64
    public var down: UInt64
}
