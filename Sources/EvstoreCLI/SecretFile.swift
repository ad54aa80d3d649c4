internal import ArgumentParser
internal import Evstore

/// A file with a store's secret: arguments can be read by other users, so none takes a secret.
enum SecretFile {
    case key(String)
    case passphrase(String)

    /// Nil where no file is named.
    init?(key: String?, passphrase: String?) {
        guard let file = key.map(Self.key) ?? passphrase.map(Self.passphrase) else { return nil }
        self = file
    }

    func read(apartFrom store: String?) throws(EvstoreError) -> StoreSecret {
        switch self {
        case .key(let path): try .key(file: path, apartFrom: store)
        case .passphrase(let path): try .passphrase(file: path, apartFrom: store)
        }
    }
}

/// The options that name a store's new secret.
struct NewSecretOptions: ParsableArguments {
    @Option(help: ArgumentHelp("What opens it from now on: a file of 32 random bytes or 64 hexadecimal digits.", valueName: "file"))
    var newKeyFile: String?

    @Option(help: ArgumentHelp("What opens it from now on: the first line of a file.", valueName: "file"))
    var newPassphraseFile: String?

    var file: SecretFile? { SecretFile(key: newKeyFile, passphrase: newPassphraseFile) }

    func validate() throws {
        if newKeyFile != nil && newPassphraseFile != nil { throw ValidationError("say --new-key-file or --new-passphrase-file, not both") }
    }
}
