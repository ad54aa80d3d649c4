/// One instruction; what follows a branch is found at `targets[c + outcome]`.
struct FusedInstruction: BitwiseCopyable, Sendable {
    enum Code: UInt8, BitwiseCopyable, Sendable {
        /// Goes no further unless the value made in slot `a` is of the kinds `b`.
        case kind
        /// Outcome 1 where the value in slot `a` is null.
        case isNull
        /// Slot `b` becomes the content of slot `a`: the unescaped text of a string, the JSON text of anything else.
        case content
        /// Outcome 1 where slot `a` has no value.
        case isAbsent
        /// Outcome 1 where slot `a` means the same as none of the constants `b`.
        case differs
        /// Outcome 1 where guard `b` does not hold of the content of slot `a`; below zero: of what the event carries beside its
        /// payload.
        case fails
        /// Outcome 1 where the content of slot `a` is not that of slot `b`.
        case differsFrom
        /// Outcome 1 where the values in slots `a` and `b` do not mean the same.
        case meansOther
        /// Outcome 1 where the value in slot `a` is there and does not fit shape `b`.
        case misfits
        /// Slot `b` becomes what codec `c` makes of slot `a`; null and nothing stay what they are.
        case convert
        /// The slots from `b & 0xff` on become the parts of slot `a` by the rule `b >> 8`; outcome: how many but one.
        case split
        /// Slot `a` becomes the texts of list `b`, one after the other.
        case concatenate
        /// Slot `b` becomes the first element of slot `a`; outcome 1 where there is none.
        case first
        /// Outcome: the index of the content of slot `a` in list `b`.
        case select
        /// Counts `a` lost values.
        case lose
        /// Counts the value in slot `a` as lost, if it is there and means the same as none of the constants `b`.
        case loseUnless
        /// Slot `b` becomes what the event carries beside its payload, source `a`; outcome 1 where it has none.
        case beside
        /// Slot `b` becomes the list or map in slot `a`, with program `c` done to each value in it.
        case each
        /// Counts an image that is hidden, or dropped.
        case hide, drop
        /// Writes the `b` pieces from `a` on: the image of end `c`.
        case write
        /// Writes the `b` values from `a` on, as many as were asked for of end `c`.
        case read
        /// All images are made.
        case done
        /// Hands the event over to the ops.
        case giveUp
    }

    let code: Code
    var a: Int32 = 0
    var b: Int32 = 0
    var c: Int32 = 0
}
