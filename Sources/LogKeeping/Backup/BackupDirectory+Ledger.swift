internal import Bytes
internal import EventLog
internal import EventModel
internal import Hashing
internal import LMDB
internal import Platform
internal import Sealing

/// The file `forgotten` beside backups: a line for each row of the log's ledger of what was forgotten (`ForgottenLedger`), with the number,
/// the code, the last slot and the proof; bytes are in hexadecimal.
extension BackupDirectory {
    private static let head = "evstore forgotten 1"
    private static let bytesMax = 1 << 30

    private var ledgerPath: String { path + "/forgotten" }

    /// Reads the entries; only the store's keys can prove them.
    func ledger() throws -> [ForgottenLedger.Entry] {
        guard try Directory.ownStatus(ledgerPath) != nil else { return [] }
        let file = try File(ledgerPath, .read)
        let text = try file.read(min(file.status().bytes, Self.bytesMax))
        var lines = String(decoding: text, as: UTF8.self).split(separator: "\n", omittingEmptySubsequences: false).map(String.init)
        guard lines.popLast() == "", lines.first == Self.head else { throw damagedLedger }
        var entries: [ForgottenLedger.Entry] = []
        for line in lines.dropFirst() {
            guard let entry = Self.entry(line) else { throw damagedLedger }
            entries.append(entry)
        }
        return entries
    }

    private static func entry(_ line: String) -> ForgottenLedger.Entry? {
        let words = line.split(separator: " ", omittingEmptySubsequences: false).map(String.init)
        guard words.count == 4, let number = UInt64(words[0]), let through = UInt32(words[2]) else { return nil }
        guard let code = bytes(hex: words[1]), code.count == 16, let proof = bytes(hex: words[3]) else { return nil }
        return ForgottenLedger.Entry(number: number, ForgottenSubject(code: code, through: through), proof: proof)
    }

    /// Adds the missing entries; returns what a run notes about all of them. Entries are never removed: if an older copy of the store is
    /// put back, its ledger is shorter.
    func add(_ entries: [ForgottenLedger.Entry]) throws -> LedgerNote {
        let known = try ledger()
        let there = Set(known)
        let missing = entries.filter { !there.contains($0) }
        let all = known + missing
        if !missing.isEmpty { try write(Array((Self.head + "\n" + Self.text(all[...])).utf8), to: ledgerPath) }
        return LedgerNote(rows: all.count, digest: Self.digest(all[...]))
    }

    private static func text(_ entries: ArraySlice<ForgottenLedger.Entry>) -> String {
        entries.map { "\($0.number) \(hex($0.forgotten.code)) \($0.forgotten.through) \(hex($0.proof))\n" }.joined()
    }

    private static func digest(_ entries: ArraySlice<ForgottenLedger.Entry>) -> String {
        var hasher = SHA256Hasher()
        hasher.update(Array(text(entries).utf8).lent)
        return hasher.finalize().hex
    }

    // MARK: Checking it

    /// What a run notes about the ledger: how many rows it had, and a digest over them.
    struct LedgerNote: Codable {
        var rows: Int
        var digest: String
    }

    /// Checks the ledger without the store's keys, by what the newest run notes about it.
    /// - Throws: `EvstoreError.backupDamaged`.
    func checkLedger(_ newest: Run?) throws { try check(ledger(), newest) }

    private func check(_ entries: [ForgottenLedger.Entry], _ newest: Run?) throws {
        guard let note = newest?.forgotten else { return }
        guard (0 ... entries.count).contains(note.rows), Self.digest(entries.prefix(note.rows)) == note.digest else { throw changedLedger }
    }

    /// Checks the ledger before a run builds on it. A file that is not there is written anew from the store's ledger, if that has all that
    /// the file had.
    /// - Parameter own: the store's ledger.
    /// - Throws: `EvstoreError.backupDamaged`.
    func checkLedger(_ newest: Run?, own: [ForgottenLedger.Entry], provenBy ring: KeyRing?) throws {
        guard try Directory.ownStatus(ledgerPath) != nil else { return try check(own, newest) }
        try checkLedger(newest)
        if let ring, try !ledger().allSatisfy({ $0.isProven(by: ring) }) { throw changedLedger }
    }

    private var changedLedger: EvstoreError { damaged("its ledger of what was forgotten is not as it was written") }

    private var damagedLedger: EvstoreError { damaged("its file forgotten, which says what was forgotten, can't be read") }
}
