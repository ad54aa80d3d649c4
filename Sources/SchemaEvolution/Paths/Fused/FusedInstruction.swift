/// One instruction. The instruction after a branch is at `targets[c + outcome]`.
struct FusedInstruction: BitwiseCopyable, Sendable {
    enum Code: UInt8, BitwiseCopyable, Sendable {
        /// Gives up unless the made value in slot `a` has one of the kinds `b`.
        case kind
        /// Outcome 1 if the value in slot `a` is null.
        case isNull
        /// Sets slot `b` to the content of slot `a`: the unescaped text of a string, the JSON text of other values.
        case content
        /// Outcome 1 if slot `a` has no value.
        case isAbsent
        /// Outcome 1 if slot `a` equals none of the constants `b`.
        case differs
        /// Outcome 1 if guard `b` does not hold for the content of slot `a`. If `a` is negative, the guard applies to what the event
        /// carries beside its payload.
        case fails
        /// Outcome 1 if the contents of slots `a` and `b` differ.
        case differsFrom
        /// Outcome 1 if the values in slots `a` and `b` are not equal.
        case meansOther
        /// Outcome 1 if the value in slot `a` is present and does not fit shape `b`.
        case misfits
        /// Sets slot `b` to the result of codec `c` for slot `a`; null and absent values stay unchanged.
        case convert
        /// Sets the slots from `b & 0xff` on to the parts of slot `a` by rule `b >> 8`. The outcome is the number of parts minus one.
        case split
        /// Sets slot `a` to the concatenation of the texts in list `b`.
        case concatenate
        /// Sets slot `b` to the first element of slot `a`. Outcome 1 if there is none.
        case first
        /// The outcome is the index of the content of slot `a` in list `b`.
        case select
        /// Counts `a` lost values.
        case lose
        /// Counts the value in slot `a` as lost if it is present and equals none of the constants `b`.
        case loseUnless
        /// Sets slot `b` to source `a`, which the event carries beside its payload. Outcome 1 if the event lacks it.
        case beside
        /// Sets slot `b` to the list or map in slot `a` with program `c` applied to each value in it.
        case each
        /// Counts a hidden or dropped image.
        case hide, drop
        /// Writes the `b` pieces from `a` on: the image of end `c`.
        case write
        /// Returns the `b` values from `a` on, which were requested for end `c`.
        case read
        /// All images are complete.
        case done
        /// Leaves the event to the ops.
        case giveUp
    }

    let code: Code
    var a: Int32 = 0
    var b: Int32 = 0
    var c: Int32 = 0

    /// Whether the instruction depends on the value in a slot of the input. The slots that `concatenate` reads are in its list.
    /// - Parameter orPresence: whether it counts, too, if it only asks whether there is one.
    func examines(_ slot: Int, orPresence: Bool) -> Bool {
        switch code {
        case .isAbsent: orPresence && Int(a) == slot
        case .concatenate, .lose, .beside, .hide, .drop, .write, .read, .done, .giveUp: false
        case .differsFrom, .meansOther: Int(a) == slot || Int(b) == slot
        case .kind, .isNull, .content, .differs, .fails, .misfits, .convert, .split, .first, .select, .loseUnless, .each: Int(a) == slot
        }
    }
}
