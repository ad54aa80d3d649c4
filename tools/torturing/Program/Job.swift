/// What is done to a store while the disk or the process fails.
enum Job: String, CaseIterable, Codable, Sendable {
    case append
    /// Appends of persons' data to a store whose events are sealed.
    case sealed
    case importing = "import"
    case replay
    case rollback
    case cut
    case finalize
    case backup
    case restore
    case create
    case drill
    case forget
    case keys
    case recipher

    /// Whether appends are all that it does, and each that has returned is noted.
    var appends: Bool { self == .append || self == .sealed }

    /// Whether the store's events are sealed.
    var isSealed: Bool { [.sealed, .forget, .keys, .recipher].contains(self) }

    /// How many of 23 recordings are of this job.
    var share: Int {
        switch self {
        case .append: 6
        case .sealed: 3
        case .importing, .replay: 2
        default: 1
        }
    }

    /// One of them, each as often as its share says.
    static func drawn(_ index: Int) -> Job {
        let jobs = allCases.flatMap { Array(repeating: $0, count: $0.share) }
        return jobs[index * 7 % jobs.count]
    }

    /// How many points one trial tries, of `usual`: a drill does everything that the others do.
    func points(of usual: Int) -> Int { self == .drill ? usual / 6 : usual }
}
