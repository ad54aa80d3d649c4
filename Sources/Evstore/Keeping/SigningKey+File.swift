public import EventModel
public import LogKeeping
internal import Platform

extension SigningKey {
    /// Reads a key from a file that the user or root owns and nobody else can read (0600); symbolic links are refused.
    /// - Throws: `EvstoreError.keyUnusable`.
    public init(file path: String) throws(EvstoreError) {
        try self.init(parsing: keyText(path, .secret), named: path)
    }
}

extension PublicKey {
    /// Reads a public key from a file that nobody else can change; symbolic links are refused.
    /// - Throws: `EvstoreError.keyUnusable`.
    public init(file path: String) throws(EvstoreError) {
        try self.init(parsing: keyText(path, .trusted), named: path)
    }
}

private func keyText(_ path: String, _ access: SecureFile.Access) throws(EvstoreError) -> [UInt8] {
    do { return try SecureFile.read(path, access, bytesMax: 4_096) } catch { throw .keyUnusable(path: path, reason: "\(error)") }
}
