/// The ids of findings about steps, by category. `FileRule` contains those about single files.
package enum Rule {
    /// The layout of a file differs from that of `schema fmt`.
    package static let layout = "STYLE400"
    /// A removed or reserved name is used again.
    static let reused = "LOG004"
    /// The ops do not turn version n-1 into what version n declares.
    package static let unexplained = "COMPAT101"
    /// The step can't upcast some events of version n-1.
    package static let upNotTotal = "COMPAT102"
    /// The step can't downcast some events of version n.
    package static let downNotTotal = "COMPAT103"
    /// A constraint is tighter; a note, since only the data can prove that events fit.
    static let tightened = "COMPAT104"
    /// The version changes nothing.
    package static let changesNothing = "COMPAT106"
    /// A loss has no reason.
    static let unexplainedLoss = "LOSS201"
    /// An op names a member that does not exist at that point of the step.
    static let noMember = "OPS301"
    /// An op writes a member that already exists at that point of the step.
    static let occupied = "OPS302"
    /// A type has both a `remove` and an `add`.
    static let didYouMeanMove = "OPS303"
    /// A Swift step lacks an argument, or the program's code does not do what the op declares.
    static let swiftStep = "OPS304"
    /// The program does not know the op.
    package static let unknownOp = "OPS306"
    /// An argument of an op is missing or invalid.
    static let opArgument = "OPS307"
    /// An item names a type that does not exist at that point of the step.
    static let noType = "OPS308"
    /// An op does not support the kind of its value.
    static let wrongKind = "OPS309"
    /// An op does nothing.
    static let idle = "OPS310"
    /// A version has no fixtures, or its fixtures do not fit it.
    package static let fixture = "LOG005"
    /// A removed member was not marked as deprecated in any released version.
    package static let notDeprecated = "LOSS202"
    /// A codec rounds.
    package static let rounds = "LOSS203"
    /// Personal data is in a place that is never sealed.
    package static let exposed = "PERS401"
    /// A step can't convert the plainest value of a personal member.
    package static let unforgettable = "PERS402"
    /// A member that is not personal gets the value of one that is.
    package static let unmarked = "PERS403"
    /// The name of a type is not written LikeThis, or that of a member not likeThis.
    package static let spelling = "STYLE401"
    /// A version or an event type has no description.
    package static let undescribed = "STYLE404"
    /// A waiver has no reason or no end, or has expired.
    package static let waiver = "POLICY501"
    /// The directory's own rules forbid the op.
    package static let forbidden = "POLICY503"
    /// The shapes can't decide; a note, since only the data can prove that events fit.
    static let undecided = "COMPAT107"

    /// The fix for personal data in a place that is never sealed.
    package static let personsFix = "use an id that reveals nothing about the person"
}
