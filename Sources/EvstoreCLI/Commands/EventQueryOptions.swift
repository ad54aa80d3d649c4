internal import ArgumentParser
internal import Evstore

/// What narrows a command down to some events: types and tags, in one item or, with `--or` between them, in several.
struct EventQueryOptions: ParsableArguments {
    @Option(help: ArgumentHelp("Only events of this type, as the version names it; of several, any of them.", valueName: "type"))
    var type: [String] = []

    @Option(help: ArgumentHelp("Only events that have this tag at the version; of several, all of them.", valueName: "tag"))
    var tag: [String] = []

    @Flag(name: .customLong("or"), help: "Or those that the types and tags behind it say.") var or: Int

    /// The query; nil where none of the options was given.
    /// - Parameter words: the command's own words. The parser does not tell in which order different options stood.
    func query(in words: [String]) throws(EvstoreError) -> EventQuery? {
        if type.isEmpty && tag.isEmpty && or == 0 { return nil }
        var items = [EventQuery.Item()]
        var index = 0
        while index < words.count {
            let word = words[index]
            index += 1
            if word == "--or" {
                items.append(.init())
                continue
            }
            for (name, member) in [("--type", \EventQuery.Item.types), ("--tag", \EventQuery.Item.tags)] {
                if word == name, index < words.count {
                    items[items.count - 1][keyPath: member].append(words[index])
                    index += 1
                } else if word.hasPrefix(name + "=") {
                    items[items.count - 1][keyPath: member].append(String(word.dropFirst(name.count + 1)))
                }
            }
        }
        guard items.allSatisfy({ !$0.types.isEmpty || !$0.tags.isEmpty }) else {
            throw .usage("--or stands between types and tags: --tag a --or --type T --tag b")
        }
        guard items.flatMap(\.types) == type, items.flatMap(\.tags) == tag else {
            throw .usage("--type and --tag take their value as the next word, or behind =")
        }
        return EventQuery(items)
    }
}
