package import EventLog
package import EventModel
internal import Hashing
internal import LMDB
internal import System

extension SignedHead {
    /// Whose signature it is.
    /// - Throws: `EvstoreError.signatureInvalid` where it is not the trusted one's.
    func require(_ trusted: PublicKey) throws(EvstoreError) {
        guard key == trusted else {
            throw .signatureInvalid(reason: "it was signed by the key \(key), and the one that is trusted is \(trusted)")
        }
    }

    /// What is no longer as it was signed; nothing where the log holds all of that, and perhaps more.
    ///
    /// A link is the hash of everything before it, from the store's id on: where the chain holds and the link is the same, so is
    /// every byte. Of a cut that was made below what was signed, nobody can tell what it has taken.
    /// - Parameter walk: of the whole log, without findings, asked for the link at this head's position.
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

    /// What of that which stands beside the log is another, and what has come since.
    func findings(_ now: SignedState, _ ledger: [ForgottenLedger.Entry]) -> [Finding] {
        guard let state, Guard.headState.isOn else { return [] }
        return state.findings(now, ledger, signed: time.description)
    }

    /// The findings of changes that may have been meant, which only the signer knows: a cut or a restore, and what a replay has registered.
    package static let acceptable: Set<String> = ["STORE104", "STORE108"]
}
