import Evstore
import Measured

/// `--name value` pairs behind the name of the work.
struct Words {
    let work: String
    private let values: [String: String]

    init(_ arguments: [String]) throws {
        work = arguments.first ?? "help"
        var values: [String: String] = [:]
        var rest = arguments.dropFirst()
        while let name = rest.popFirst() {
            guard name.hasPrefix("--"), let value = rest.popFirst() else { throw Unexpected(what: "a word: \(name)") }
            values[String(name.dropFirst(2))] = value
        }
        self.values = values
    }

    func has(_ name: String) -> Bool { values[name] != nil }

    func text(_ name: String) throws -> String {
        guard let value = values[name] else { throw Unexpected(what: "no --\(name)") }
        return value
    }

    func number(_ name: String, or usual: Int? = nil) throws -> Int {
        if let usual, !has(name) { return usual }
        guard let number = Int(try text(name)) else { throw Unexpected(what: "--\(name) is no number") }
        return number
    }

    /// `--map-mib` for machines that lend no large address space, such as valgrind's; `--in-place-ms` for those that are slow; `--key-file`
    /// for sealed stores.
    func options() throws -> Options {
        var options = Options()
        if has("map-mib") { options.mapBytes = try number("map-mib") << 20 }
        if has("key-file") { options.secret = try .key(file: text("key-file")) }
        // Under valgrind no disk is quick.
        if has("in-place-ms") { options.appendInPlaceLimit = .milliseconds(try number("in-place-ms")) }
        if has("jobs") { options.replayJobs = try number("jobs") }
        return options
    }
}
