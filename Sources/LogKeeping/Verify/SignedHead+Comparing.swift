package import EventLog
package import EventModel
internal import Hashing
internal import LMDB
internal import Platform

extension SignedHead {
    /// Checks that the trusted key has signed the head.
    /// - Throws: `EvstoreError.signatureInvalid` where another key has signed it.
    func require(_ trusted: PublicKey) throws(EvstoreError) {
        guard key == trusted else {
            throw .signatureInvalid(reason: "it was signed by the key \(key), and the one that is trusted is \(trusted)")
        }
    }

    /// Compares the log with the head; no findings where every byte up to the head's position is unchanged since it was signed.
    ///
    /// A link is the hash of everything before it, beginning with the store's id: if the chain is valid and the link is equal, every byte
    /// is equal. Nothing shows which events a cut below the signed position has discarded.
    /// - Parameter walk: the walk of the whole log, without findings, that asked for the link at this head's position.
    package func findings(_ walk: LogWalk) -> [Finding] {
        func finding(_ id: String, at place: Position? = nil, _ message: String, _ advice: Advice) -> [Finding] {
            [Finding(id: id, position: place, message: message, advice: advice)]
        }
        let keep: Advice = "keep these files as they are; restore a backup beside them and compare: \(.restore)"
        let signed = "position \(position) of epoch \(epoch), signed \(time)"
        guard store == walk.store.description else {
            return finding(
                "STORE101", "the signed head is of the store \(store), and this one is \(walk.store): another store stands here",
                "name the head of this store, or find out who put it here")
        }
        guard epoch <= walk.end.epoch || !Guard.headEpoch.isOn else {
            return finding(
                "STORE105", "the log is at epoch \(walk.end.epoch), and \(signed), is of a later one: an older copy was put back",
                keep)
        }
        if let cut = walk.cuts.filter({ $0.epoch > epoch }).min(by: { $0.position < $1.position }), cut.position < position {
            return finding(
                "STORE104", at: cut.position,
                "the log was cut at position \(cut.position) (epoch \(cut.epoch)) since \(signed); what was signed can't be shown any more",
                "if the cut or the restore was yours (\(.journal)), say so: \(.acceptSigned)")
        }
        guard position <= walk.end.position else {
            return finding(
                "STORE102", at: walk.end.position,
                "the log ends at position \(walk.end.position), and \(signed), is gone: its end was taken off, or an older copy put back",
                keep)
        }
        guard walk.linkAsked?.hex == link || !Guard.headLink.isOn else {
            return finding(
                "STORE103", at: position,
                "the log up to position \(position) is not what was signed \(time): an event was altered, left out, put in or moved",
                keep)
        }
        return []
    }

    /// Compares versions, definitions, keys and ledger with the head; later additions are reported as a note.
    func findings(_ now: SignedState, _ ledger: [ForgottenLedger.Entry]) -> [Finding] {
        guard let state, Guard.headState.isOn else { return [] }
        return state.findings(now, ledger, signed: time.description)
    }

    /// The ids of findings that the store's owner may have caused by a cut, a restore or a replay: only the signer can judge them.
    package static let acceptable: Set<String> = ["STORE104", "STORE108"]
}
