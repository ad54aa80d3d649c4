extension EvstoreError {
    /// The errors of backups, of stores made from them, of keys and of a store's file system.
    var keeping: ErrorDetails? {
        switch self {
        case .backupDamaged(let path, let reason):
            .init(
                "backupDamaged", "the backup \(path) can't be restored: \(reason)",
                fix: "use another backup, or make one in a new directory; keep this one until then")
        case .notInBackup(let wanted, let has):
            .init("notInBackup", "\(wanted) is not in the backup, which has \(has)", fix: "name a position or a time that it has")
        case .otherBackup(let path):
            .init("otherBackup", "\(path) holds the backups of another store", fix: "name a directory of this store's own")
        case .nothingToSalvage(let path):
            .init("nothingToSalvage", "no event was found in \(path)", fix: "restore a backup")
        case .unsafeFileSystem(let path, let kind):
            .init(
                "unsafeFileSystem",
                "\(path) lies on a file system \(kind), which is not known to provide the locks and the durable writes that a store needs",
                fix: "put the store on ext4, xfs, btrfs, f2fs or zfs, or allow it (`Options.allowsUnsafeFileSystem`)")
        case .signatureInvalid(let reason):
            .init(
                "signatureInvalid", "the signed head is not valid: \(reason)",
                fix: "get the head from where it was kept, and the public key from its signer")
        case .keyUnusable(let path, let reason):
            .init(
                "keyUnusable", "\(path) can't be used as a key: \(reason)",
                fix: "heads are signed by an Ed25519 key in PEM, events sealed by 32 random bytes; only its owner may read the file")
        case .keyNeeded(let what, let how): .init("keyNeeded", what, advice: how)
        default: nil
        }
    }
}
