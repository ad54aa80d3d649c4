internal import Bytes
internal import EventLog
internal import EventModel
internal import Hashing
internal import LMDB
internal import Platform

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

    /// Adds the missing entries. Entries are never removed: if an older copy of the store is put back, its ledger is shorter.
    func add(_ entries: [ForgottenLedger.Entry]) throws {
        let known = try ledger()
        let there = Set(known)
        let missing = entries.filter { !there.contains($0) }
        if missing.isEmpty { return }
        var text = Self.head + "\n"
        for entry in known + missing {
            text += "\(entry.number) \(hex(entry.forgotten.code)) \(entry.forgotten.through) \(hex(entry.proof))\n"
        }
        try write(Array(text.utf8), to: ledgerPath)
    }

    private var damagedLedger: EvstoreError { damaged("its file forgotten, which says what was forgotten, can't be read") }
}
