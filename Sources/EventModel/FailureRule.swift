/// What a build does with an event that has no image or can't be folded.
public enum FailureRule: String, Hashable, Sendable, CaseIterable {
    /// The first such event stops the build, and nothing changes.
    case stop
    /// Each such event is listed in the generation's quarantine with its position and the reason.
    case quarantine
}
