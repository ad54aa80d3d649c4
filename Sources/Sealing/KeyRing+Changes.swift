extension KeyRing {
    /// Makes the first keys of a store: a master key in one slot, and a data key.
    package static func make(
        storeID: [UInt8], _ secret: KeySecret, _ stretching: Stretching, suite: Suite = .gcm, label: String, time: Int64,
        hasCodes: Bool = true
    ) throws(SealError) -> KeyRing {
        let master = SecretKey.random()
        let opener = try SlotOpener(secret, stretching)
        let slot = try EntryDraft(slot: 1, opener, label: label, time: time, storeID).slot(of: master, for: opener)
        let key = try EntryDraft(dataKey: 1, suite, time: time, storeID).dataKey(under: master)
        let draft = KeyFileDraft(generation: 1, storeID: storeID, writing: 1, hasCodes: hasCodes, entries: [slot, key])
        return try KeyRing(draft.file(under: master), master: master)
    }

    /// Adds a slot for the same keys; returns its number.
    /// - Throws: `SealError.limit` where there are too many, or the secret opens one already that stretches it like this.
    package mutating func addSlot(_ secret: KeySecret, _ stretching: Stretching, label: String, time: Int64) throws(SealError) -> UInt32 {
        guard file.slots.count < KeyFile.slotsMax else { throw .limit("there are \(KeyFile.slotsMax) slots; retire one first") }
        if let known = try Self.slot(of: file, openedBy: secret, stretched: stretching) {
            throw .limit("slot \(known.id) is opened by this \(stretching == .none ? "key" : "passphrase") already")
        }
        let id = Self.next(file.slots)
        let opener = try SlotOpener(secret, stretching)
        let slot = try EntryDraft(slot: id, opener, label: label, time: time, file.storeID).slot(of: master, for: opener)
        try replace(file.entries.map(\.bytes) + [slot], writing: file.writing)
        return id
    }

    /// Adds a data key, under which records are sealed from now on; returns its number.
    package mutating func rotate(_ suite: Suite, time: Int64) throws(SealError) -> UInt32 {
        guard file.entries.count < KeyFile.entriesMax else { throw .limit("there are \(file.entries.count) keys; retire some first") }
        let id = Self.next(file.dataKeys)
        let key = try EntryDraft(dataKey: id, suite, time: time, file.storeID).dataKey(under: master)
        try replace(file.entries.map(\.bytes) + [key], writing: id)
        return id
    }

    /// Removes a slot or a data key. The caller has checked that no record needs the data key.
    /// - Throws: `SealError.limit` where there is no such key, or it is the last slot or the key that records are sealed under.
    package mutating func retire(_ kind: KeyFile.Kind, _ id: UInt32) throws(SealError) {
        let rest = file.entries.filter { $0.kind != kind || $0.id != id }
        guard rest.count < file.entries.count else { throw .limit("there is no such key") }
        guard rest.contains(where: { $0.kind == .slot }) else { throw .limit("it is the last slot: without it nothing can be opened") }
        guard kind == .slot || id != file.writing else { throw .limit("it is the key that is written under: rotate first") }
        try replace(rest.map(\.bytes), writing: file.writing)
    }

    /// The bytes of the key file.
    package var encoded: [UInt8] { file.bytes }

    private mutating func replace(_ entries: [[UInt8]], writing: UInt32) throws(SealError) {
        let draft = KeyFileDraft(
            generation: file.generation + 1, storeID: file.storeID, writing: writing, hasCodes: file.hasCodes, entries: entries)
        self = try KeyRing(draft.file(under: master), master: master)
    }

    /// The number of a new entry: one more than the highest in use.
    private static func next(_ entries: [KeyFile.Entry]) -> UInt32 { (entries.map(\.id).max() ?? 0) + 1 }
}
