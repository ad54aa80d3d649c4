/// What a build does with an event that has no image or does not fold.
public enum FailureRule: String, Hashable, Sendable, CaseIterable {
    /// The first one stops the build and nothing changes.
    case stop
    /// Each is listed in the generation's quarantine with its position and reason.
    case quarantine
}
