/// The ids of findings on steps, by category. `FileRule` has those on files as such.
package enum Rule {
    /// A file whose layout is not that of `schema fmt`.
    package static let layout = "STYLE400"
    /// A name that was removed or reserved is used again.
    static let reused = "LOG004"
    /// The ops do not make of version n-1 what version n declares.
    package static let unexplained = "COMPAT101"
    /// There are events of version n-1 that the step can't take up.
    package static let upNotTotal = "COMPAT102"
    /// There are events of version n that the step can't take down.
    package static let downNotTotal = "COMPAT103"
    /// A constraint is tighter: a note, proved on the data.
    static let tightened = "COMPAT104"
    /// A version that changes nothing.
    package static let changesNothing = "COMPAT106"
    /// A loss without a reason.
    static let unexplainedLoss = "LOSS201"
    /// An op names a member that does not exist at its place in the list.
    static let noMember = "OPS301"
    /// An op writes a member that exists at its place in the list.
    static let occupied = "OPS302"
    /// A `remove` and an `add` of one type.
    static let didYouMeanMove = "OPS303"
    /// A Swift step whose op lacks an argument, or whose code in the program does not do what the op says.
    static let swiftStep = "OPS304"
    /// An op that this program does not know.
    package static let unknownOp = "OPS306"
    /// An op's argument is missing or wrong.
    static let opArgument = "OPS307"
    /// An item names a type that does not exist at its place in the list.
    static let noType = "OPS308"
    /// An op on a value of a kind that it does not support.
    static let wrongKind = "OPS309"
    /// An op that does nothing.
    static let idle = "OPS310"
    /// A version without fixtures, or with fixtures that do not fit it.
    package static let fixture = "LOG005"
    /// A member is removed that no released version had marked as deprecated.
    package static let notDeprecated = "LOSS202"
    /// A codec that rounds.
    package static let rounds = "LOSS203"
    /// Personal data in a place that is never sealed.
    package static let exposed = "PERS401"
    /// Names of types are written LikeThis, those of members likeThis.
    package static let spelling = "STYLE401"
    /// A version or an event type without a description.
    package static let undescribed = "STYLE404"
    /// A waiver without a reason or an end, or one that has ended.
    package static let waiver = "POLICY501"
    /// An op that the directory's own rules forbid.
    package static let forbidden = "POLICY503"
    /// The shapes can't decide: a note, proved on the data.
    static let undecided = "COMPAT107"

    /// The fix wherever a person's data would stand where it is never sealed.
    package static let personsFix = "use an id that says nothing of the person"
}
