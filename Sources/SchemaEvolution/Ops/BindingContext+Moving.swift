internal import EventModel
internal import JSONText

/// Removes members from a shape and inserts them, together with the objects around them.
extension BindingContext {
    /// The origin of an inserted member's value.
    enum MemberOrigin {
        /// Moved from another pointer; `always` means that it is present whenever the innermost object around both pointers is.
        case moved(always: Bool)
        /// A constant.
        case added
        /// Derived from other members.
        case derived(always: Bool)

        /// Whether the op creates the objects around the member.
        var bringsObjects: Bool {
            if case .added = self { false } else { true }
        }
    }

    /// Removes a member, together with the objects around it that version n does not have.
    ///
    /// - Parameters:
    ///   - common: how many of the outermost objects around the member also contain its new location; whether they may be absent does not
    ///     matter.
    ///   - target: the new location, if an object around the member must be removed to free it.
    mutating func take(
        _ pointer: JSONPointer, common: Int = 0, makingRoomFor target: JSONPointer? = nil
    ) -> (
        shape: Shape, always: Bool
    )? {
        guard passesObjects(pointer), require(pointer) != nil else { return nil }
        let always = isAlwaysPresent(pointer, beyond: common)
        let partly = shape.isRequired(at: pointer) && !always
        guard let taken = shape.remove(at: pointer) else { return nil }
        var parent = pointer.parent
        while let place = parent, !place.isRoot, let object = shape.shape(at: place) {
            guard object.properties.isEmpty, place == target || declared(at: place) == nil else { break }
            shape.remove(at: place)
            parent = place.parent
        }
        if partly, let place = parent, place.tokens.count + 1 == pointer.tokens.count {
            // The older version requires the member in each such object, and the newer version no longer records which objects had it.
            opClass.insert(.partial)
            isUnproved = true
        }
        return (taken.shape, always)
    }

    /// Inserts a member, together with missing objects around it. Returns false, after adding a finding, if that is not possible.
    mutating func put(_ member: Shape, at pointer: JSONPointer, _ arrival: MemberOrigin, common: Int = 0) -> Bool {
        guard passesObjects(pointer) else { return false }
        guard shape.shape(at: pointer) == nil else {
            note(Rule.occupied, "there is a \(pointer) already at this point of the list", fix: "remove it before, or choose another path")
            return false
        }
        var isNew = false
        for depth in 1 ..< max(pointer.tokens.count, 1) {
            let place = JSONPointer(tokens: Array(pointer.tokens.prefix(depth)))
            let wanted = declaredRequires(place)
            if let parent = shape.shape(at: place) {
                isNew = false
                guard depth > common, !shape.isRequired(at: place) else { continue }
                let isMade =
                    switch arrival {
                    case .moved(let always): always
                    case .derived(let always): always && wanted != false
                    case .added: wanted == true
                    }
                if isMade { _ = shape.replace(at: place, with: parent, required: true) }
                if isMade || arrival.bringsObjects {
                    // On the way down, an empty object and an absent one can't be distinguished; an object that is created lacks its
                    // required members.
                    if parent.required.isEmpty {
                        opClass.insert(.partial)
                    } else if parent.required.contains(where: { $0.text != pointer.tokens[depth].text }) {
                        opClass.insert(.partial)
                        isUnproved = true
                    }
                }
            } else {
                isNew = true
                let isRequired =
                    switch arrival {
                    case .moved(let always): always || wanted == true
                    case .derived(let always): wanted ?? always
                    case .added: wanted ?? true
                    }
                _ = shape.insert(.object([]), at: place, required: isRequired)
            }
        }
        let wanted = declaredRequires(pointer)
        let isConditional = isNew && pointer.parent.map { !shape.isRequired(at: $0) } == true
        let isRequired =
            switch arrival {
            case .moved(let always): always || isConditional && wanted != false
            case .derived(let always): always || isConditional ? wanted ?? true : false
            case .added: wanted ?? true
            }
        return shape.insert(member, at: pointer, required: isRequired)
    }

    /// Whether a member is present whenever its `common` outermost objects are.
    func isAlwaysPresent(_ pointer: JSONPointer, beyond common: Int = 0) -> Bool {
        for depth in common ..< pointer.tokens.count {
            let place = JSONPointer(tokens: Array(pointer.tokens.prefix(depth + 1)))
            guard shape.isRequired(at: place) else { return false }
        }
        return true
    }

    /// Checks that a pointer leads only through objects that can't be null and are not maps.
    private mutating func passesObjects(_ pointer: JSONPointer) -> Bool {
        guard !pointer.isRoot else {
            note(Rule.opArgument, "the empty pointer names the whole payload, not a member")
            return false
        }
        for depth in 0 ..< pointer.tokens.count {
            let place = JSONPointer(tokens: Array(pointer.tokens.prefix(depth)))
            guard let object = shape.shape(at: place) else { return true }
            guard object.kind == .object, !object.isMap, !object.isNullable else {
                let what = place.isRoot ? "what is here" : place.description
                note(
                    Rule.wrongKind,
                    "\(pointer) leads through \(what), which is \(object.noun)\(object.isNullable ? " that may be null" : "")",
                    fix: object.kind == .array || object.isMap ? "each: {path: \(place), do: […]}" : nil)
                return false
            }
        }
        return true
    }
}

extension JSONPointer {
    /// How many of the outermost objects around a member also contain the other member.
    func commonParents(with other: JSONPointer) -> Int {
        zip(tokens.dropLast(), other.tokens.dropLast()).prefix { $0 == $1 }.count
    }
}
