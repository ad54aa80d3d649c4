public import EventModel

/// What was forgotten.
public struct ForgetReport: Hashable, Sendable {
    public var forgotten: [StreamName] = []
    /// What was forgotten earlier.
    public var before: [StreamName] = []
    /// Streams that never had personal data.
    public var unknown: [StreamName] = []
    /// How many read models were taken away; each is built anew when it is asked for.
    public var readModels = 0
    /// Files below `archive/`, which may hold older copies.
    public var archives: [String] = []

    public init() {}
}
