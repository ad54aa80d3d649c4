internal import Bytes
internal import EventLog
internal import EventModel
internal import LMDB
internal import Platform

/// The names of streams by id: from their first events, from the readable part of the table, or made up where both are lost.
struct SalvagedNames {
    private var names: [UInt64: StreamName] = [:]
    private var ids: [String: UInt64] = [:]
    /// The names in the table for streams whose first event is lost.
    private let noted: [UInt64: StreamName]
    /// The names that were made up.
    private(set) var lost: [StreamName] = []

    init(_ salvage: Salvage) throws {
        guard let data = salvage.source.data, !salvage.log.gaps.isEmpty || !salvage.log.unconfirmed.isEmpty else {
            noted = [:]
            return
        }
        var noted: [UInt64: StreamName] = [:]
        let blocks = salvage.log.blocks
        for commit in try TreeRemains.commits(in: data) {
            var tree = try TreeRemains(commit, of: data)
            try tree.walk(TableDescriptor.log.kinds) { table, key, value in
                guard table == TableDescriptor.streams.name, value.count <= 8 + RowCode.bytes + RowChecksum.bytes, StreamName.isValid(key)
                else { return }
                let row = try data.read(value.count, at: value.offset)
                guard let bytes = salvage.remains.value(table, [UInt8](copying: key), row), bytes.count == 8, let name = String(utf8: key)
                else { return }
                let id = bytes.lent.load(UInt64.self, at: 0)
                // Other streams have their names in their first events.
                let isLost = blocks.first(endingFrom: Position(id)).map { $0.first > Position(id) } ?? true
                if noted[id] == nil, isLost { noted[id] = StreamName(unchecked: name) }
            }
        }
        self.noted = noted
    }

    func knows(_ stream: UInt64) -> Bool { names[stream] != nil }

    func name(ofStream stream: UInt64) -> StreamName? { names[stream] }

    mutating func learn(_ stream: UInt64, _ name: StreamName) {
        names[stream] = name
        ids[name.text] = stream
    }

    /// The name of a record's stream, which is the same for all of its records, and different for each stream.
    mutating func name(of record: RecordView) -> StreamName {
        let stream = record.streamID
        if let name = names[stream] { return name }
        if let name = record.streamName ?? noted[stream], ids[name.text] == nil {
            learn(stream, name)
            return name
        }
        var name = StreamName(unchecked: "lost:\(stream)")
        // An earlier salvage may have given another stream this name.
        while ids[name.text] != nil { name = StreamName(unchecked: name.text + "+") }
        learn(stream, name)
        lost.append(name)
        return name
    }
}
