extension EvstoreError {
    /// What backups, what is made from them and the place of a store have to say.
    var keeping: ErrorDetails? {
        switch self {
        case .backupDamaged(let path, let reason):
            .init(
                "backupDamaged", 7, "the backup \(path) can't be restored: \(reason)", fix: "use another backup; keep this one until then")
        case .notInBackup(let wanted, let has):
            .init("notInBackup", 2, "\(wanted) is not in the backup, which has \(has)", fix: "name a position or a time that it has")
        case .otherBackup(let path):
            .init("otherBackup", 2, "\(path) holds the backups of another store", fix: "name a directory of this store's own")
        case .nothingToSalvage(let path):
            .init("nothingToSalvage", 7, "no event was found in \(path)", fix: "restore a backup")
        case .unsafeFileSystem(let path, let kind):
            .init(
                "unsafeFileSystem", 1,
                "\(path) lies on a file system \(kind), which is not known to keep locks and synced bytes as a store needs them",
                fix: "put the store on ext4, xfs, btrfs, f2fs or zfs, or say --any-file-system")
        case .signatureInvalid(let reason):
            .init(
                "signatureInvalid", 7, "the signed head proves nothing: \(reason)",
                fix: "take the head from where it was kept, and the public key from who signed it")
        case .keyUnusable(let path, let reason):
            .init(
                "keyUnusable", 2, "\(path) can't be used as a key: \(reason)",
                fix: """
                    make one to sign heads: (umask 077; openssl genpkey -algorithm ed25519 -out KEYFILE); its public half: \
                    openssl pkey -in KEYFILE -pubout -out KEYFILE.pub; one to seal events: (umask 077; head -c 32 /dev/urandom > KEYFILE)
                    """)
        case .keyNeeded(let what, let how): .init("keyNeeded", 3, what, fix: how)
        default: nil
        }
    }
}
