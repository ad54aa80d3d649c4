internal import ArgumentParser
internal import Evstore

extension StoreSecret {
    /// The secret in the file that is named, nil where none is: arguments can be read by other users, so none takes a secret.
    static func file(key: String?, passphrase: String?, apartFrom store: String?) throws(EvstoreError) -> StoreSecret? {
        if let key { return try .key(file: key, apartFrom: store) }
        if let passphrase { return try .passphrase(file: passphrase, apartFrom: store) }
        return nil
    }
}

/// The options that name a store's new secret.
struct NewSecretOptions: ParsableArguments {
    @Option(help: ArgumentHelp("What opens it from now on: a file of 32 random bytes or 64 hexadecimal digits.", valueName: "file"))
    var newKeyFile: String?

    @Option(help: ArgumentHelp("What opens it from now on: the first line of a file.", valueName: "file"))
    var newPassphraseFile: String?

    var isGiven: Bool { newKeyFile != nil || newPassphraseFile != nil }

    func secret(apartFrom store: String?) throws(EvstoreError) -> StoreSecret? {
        try .file(key: newKeyFile, passphrase: newPassphraseFile, apartFrom: store)
    }

    func validate() throws {
        if newKeyFile != nil && newPassphraseFile != nil { throw ValidationError("say --new-key-file or --new-passphrase-file, not both") }
    }
}
