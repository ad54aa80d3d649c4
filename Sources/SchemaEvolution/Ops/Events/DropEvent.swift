internal import EventModel
internal import JSONText

/// `drop-event {type, because}`: a type that has no images from version n on; its events stay in the log.
struct DropEvent: EventOp {
    static let name = "drop-event"

    let type: String
    let because: String

    init(_ arguments: FileNode) throws(FileProblem) {
        try arguments.map("drop-event", allowing: ["type", "because"])
        type = try arguments.required("type", of: "drop-event").text("type")
        because = try arguments.member("because")?.text("because") ?? ""
    }

    var taken: [String] { [type] }

    var loss: (type: String, why: String)? { (type, because) }

    func effects(of type: String, in stream: StreamTemplate?, _ direction: Direction) -> [EventEffect]? {
        direction == .up && type.isSame(as: self.type) ? [EventEffect(type: nil, words: "is dropped: \(because)")] : nil
    }

    func bind(_ site: inout StepContext) -> BoundEventOp? {
        guard site.require(type) != nil else { return nil }
        site.require(reason: because, "\(type) is dropped and nothing says why", at: ["*", "because"])
        site.opClass.insert(.narrow)
        site.types[type] = nil
        return BoundEventOp(up: [Name(type): .dropped(because: because)])
    }
}
