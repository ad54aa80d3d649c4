internal import EventModel
internal import JSONText

extension Codec {
    /// The codec in a few words that hold both ways.
    var words: String {
        switch self {
        case let decimal as DecimalText: "a decimal text <-> whole units, \(decimal.scale) digits"
        case let epoch as EpochSeconds:
            "seconds since \(epoch.form.origin == 0 ? "1970" : "second \(epoch.form.origin) of 1970") <-> RFC 3339"
        case is EpochMillis: "milliseconds since 1970 <-> RFC 3339"
        case is DateOfTime: "a moment <-> its day"
        case is LocalTime: "a local time <-> RFC 3339"
        case let scale as Scale: "times \(scale.num) / \(scale.den), and back"
        case let table as Table: table.rows.map { "\($0.key) is \($0.value.word)" }.joined(separator: ", ")
        case is IntegerText, is NumberText, is BooleanText: "a text <-> its value"
        default: Self.name
        }
    }
}

extension Guard {
    /// The test as a clause.
    var words: String {
        let what =
            switch subject {
            case .payload(let pointer): pointer.description
            case .metadata(let pointer): "$metadata\(pointer)"
            case .time: "$time"
            }
        return switch test {
        case .oneOf(let values): "\(what) is \(values.map { String(decoding: $0, as: UTF8.self) }.joined(separator: " or "))"
        case .exists(let wanted): wanted ? "\(what) is there" : "\(what) is absent"
        case .below(let limit): "\(what) is below \(limit.numbers.map(String.init).joined(separator: "."))"
        case .before(let time): "\(what) is before \(time)"
        }
    }
}
