extension EvstoreError {
    /// What backups and what is made from them have to say.
    var keeping: ErrorDetails? {
        switch self {
        case .backupDamaged(let path, let reason):
            .init(
                "backupDamaged", 7, "the backup \(path) can't be restored: \(reason)", fix: "use another backup; keep this one until then")
        case .notInBackup(let wanted, let has):
            .init("notInBackup", 2, "the backup does not reach \(wanted): it has \(has)", fix: "name a position or a time that it has")
        case .otherBackup(let path):
            .init("otherBackup", 2, "\(path) holds the backups of another store", fix: "name a directory of this store's own")
        default: nil
        }
    }
}
