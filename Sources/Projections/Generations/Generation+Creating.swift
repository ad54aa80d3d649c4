internal import Bytes
package import EventLog
package import EventModel
internal import Hashing
internal import JSONText
internal import LMDB
internal import Platform

extension Generation {
    /// Creates an empty generation that has consumed nothing. It appears under its name either complete or not at all.
    ///
    /// It is not ready until a `BulkBuild` has completed it.
    /// - Parameters:
    ///   - store: the directory in which it is created: that of the log, or a scratch directory.
    ///   - log: the log from whose events it is built; its rows are sealed if those events are.
    package static func create(for definition: Definition, in store: String, of log: EventLog) throws(EvstoreError) -> Generation {
        try converting("making a generation of \(definition.name)", at: store) {
            let home = try StoreFiles.directory(Directory.name(of: home(in: store)), of: store)
            // Syncs even if another process created the directory, since that process may have been killed before its sync.
            try Directory.sync(store)
            let name = try freeName(namePrefix(of: definition.fingerprint), in: home)
            let made = home + "/new-" + name
            try Directory.remove(made)
            try Directory.create(made)
            let header = GenerationHeader(
                projection: definition.name, fingerprint: definition.fingerprint, storeID: log.storeID, version: definition.version,
                checkpoint: .start)
            let keys = try log.makeModelKeys(of: name, in: made)
            let hasIndexes = !definition.indexes.isEmpty && keys == nil
            let tables = GenerationTable.allCases.filter { $0 != .indexes || hasIndexes }
            var configuration = configuration(log.options, creating: tables)
            configuration.isSyncing = false
            let environment = try Environment.open(directory: made, configuration)
            let generation: Generation
            do {
                let mark = try GenerationMark(made)
                try mark.make()
                generation = try Generation(
                    directory: made, environment: environment, mark: mark, keys: keys, fingerprint: definition.fingerprint,
                    format: GenerationHeader.format(isSealed: keys != nil))
            } catch {
                environment.close()
                throw error
            }
            do {
                defer { generation.close() }
                // The mark need not be durable: nobody finds the directory before it is renamed, and without its mark an empty file is checked.
                try environment.write { transaction in try generation.put(header, &transaction) }
                // Order: before the rename, which gives the file its name.
                try environment.sync()
            }
            try Directory.sync(made)
            try Directory.rename(made, to: home + "/" + name)
            try Directory.sync(home)
            return try open(named: name, in: store, of: log)
        }
    }

    /// A name that no other generation has had: a process that still has a removed generation open must not mistake the next one for it.
    private static func freeName(_ prefix: String, in home: String) throws -> String {
        let taken = Set(try Directory.names(home))
        while true {
            let name = prefix + String(UInt32.random(in: 1 ... .max), radix: 16)
            if !taken.contains(name) { return name }
        }
    }

    /// Removes the directory of a generation, or a leftover, key first: nothing can open what may remain. No process may have it open.
    package static func remove(named name: String, in store: String) throws(EvstoreError) {
        try converting("removing the generation \(name)", at: home(in: store) + "/" + name) {
            guard !name.contains("/"), !name.hasPrefix(".") else { throw EvstoreError.misuse("\(quoted(name)) is not a name") }
            try Directory.remove(home(in: store) + "/" + name, overwriting: KeyedFiles.isOne)
        }
    }

    /// Durably marks a generation that is about to leave the store's map, so that no build takes it for one that an earlier run left. What is
    /// in the map is read as before.
    package static func retire(named name: String, in store: String) throws(EvstoreError) {
        let directory = home(in: store) + "/" + name
        try converting("marking the generation \(name)", at: directory) {
            _ = try File(directory + retiredName, .create)
            try Directory.sync(directory)
        }
    }

    package static func isRetired(_ name: String, in store: String) throws(EvstoreError) -> Bool {
        let path = home(in: store) + "/" + name + retiredName
        return try converting(at: path) { try Directory.status(path) != nil }
    }

    private static let retiredName = "/retired"

    /// Lists an event. Returns false if it was already listed.
    func put(_ row: QuarantineRow, _ transaction: inout WriteTransaction) throws -> Bool {
        let key = QuarantineRow.key(row.position)
        return try quarantine.insert(key.lent, row.error.lent, &transaction)
    }

    func put(_ header: GenerationHeader, _ transaction: inout WriteTransaction) throws {
        let key = Self.headerKey
        let text = Array(header.json(format: format).text.utf8)
        try meta.put(key.lent, text.lent, &transaction)
    }
}
