internal import EventModel

extension LawTrial {
    /// Tries all laws on about so many made events of a type that no step refuses, each at every version at which it is to have an image.
    package mutating func check(_ kind: TypeAtVersion, generated count: Int, seed: UInt64) {
        var generator = EventGenerator(history, words: words, seed: seed)
        var accepted = 0
        for _ in 0 ..< 5 * count where accepted < count {
            guard let event = generator.event(type: kind.type, born: kind.version) else { continue }
            let before = tally.refused
            check(everywhere: event)
            if tally.refused == before { accepted += 1 }
        }
    }

    /// Tries all laws on a changed copy of each image that an event of the log has at the newest version.
    package mutating func check(mutationsOf event: LawEvent, seed: UInt64) {
        var generator = EventGenerator(history, words: words, seed: seed)
        for image in newest(event) {
            if let made = generator.mutation(of: image) { check(everywhere: made) }
        }
    }

    private mutating func check(everywhere event: LawEvent) {
        for number in 1 ..< history.head.number + 1 where Self.isStated(history, from: event.born, to: SchemaVersion(number)) {
            check(event, at: SchemaVersion(number))
        }
    }
}
