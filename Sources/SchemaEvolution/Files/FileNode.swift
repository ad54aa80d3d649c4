internal import EventModel
package import JSONText

/// A location in a file: line and column, counted from 1, the column in Unicode scalars.
package struct FileLocation: Hashable, Sendable {
    package var file: String
    package var line: Int
    package var column: Int

    package init(file: String, line: Int, column: Int) {
        (self.file, self.line, self.column) = (file, line, column)
    }
}

/// A node of a version or projection file, with its location. Members keep their order.
package struct FileNode: Hashable, Sendable {
    package enum Kind: Hashable, Sendable {
        case null
        case bool(Bool)
        /// The number's text as written, a valid JSON number.
        case number(String)
        case string(String)
        case list([FileNode])
        case map([Member])
    }

    package struct Member: Hashable, Sendable {
        package let name: String
        /// The location of the name; the value has its own location.
        package let place: FileLocation
        package let value: FileNode

        package init(name: String, place: FileLocation, value: FileNode) {
            (self.name, self.place, self.value) = (name, place, value)
        }
    }

    package let kind: Kind
    package let mark: FileLocation

    package init(_ kind: Kind, at mark: FileLocation) { (self.kind, self.mark) = (kind, mark) }

    /// The value of a map's member; nil if the member is absent or this is no map.
    package func member(_ name: String) -> FileNode? {
        guard case .map(let members) = kind else { return nil }
        return members.first { $0.name.isSame(as: name) }?.value
    }

    /// The number of nodes in this tree, including this one.
    var count: Int {
        switch kind {
        case .list(let nodes): nodes.reduce(1) { $0 + $1.count }
        case .map(let members): members.reduce(1) { $0 + $1.value.count }
        default: 1
        }
    }

    /// The value without locations.
    package var json: JSONValue {
        switch kind {
        case .null: .null
        case .bool(let value): .bool(value)
        case .number(let text): .number(text)
        case .string(let text): .string(text)
        case .list(let nodes): .array(nodes.map(\.json))
        case .map(let members): .object(members.map { .init(name: $0.name, value: $0.value.json) })
        }
    }

    /// The value as steps and folds write it into events and rows: in canonical spelling.
    package var constant: JSONValue { json.normal }

    /// A description of the node for messages: its kind, and its value if that is short.
    package var words: String {
        switch kind {
        case .null: "null"
        case .bool(let value): String(value)
        case .number(let text): "the number \(text.prefix(40))"
        case .string(let text): "the text \(quoted(text))"
        case .list: "a list"
        case .map: "a map"
        }
    }
}
