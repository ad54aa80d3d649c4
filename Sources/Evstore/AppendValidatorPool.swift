internal import EventModel
internal import Platform

/// Keeps validators between appends. Where one is of an older state of the store, the log notices and asks to check again.
final class AppendValidatorPool: Sendable {
    private let idle = Monitor<[AppendValidator]>([])

    /// A kept validator, or a new one where there is none or a fresh one is asked for; a new one replaces those of earlier states.
    func take(isFresh: Bool, or make: () throws(EvstoreError) -> AppendValidator) throws(EvstoreError) -> AppendValidator {
        if !isFresh, let validator = idle.withLock({ $0.popLast() }) { return validator }
        let validator = try make()
        idle.withLock { $0.removeAll { $0.stamp != validator.stamp } }
        return validator
    }

    func give(_ validator: AppendValidator) {
        idle.withLock { validators in
            if validators.count < Self.keptMax, validators.allSatisfy({ $0.stamp == validator.stamp }) { validators.append(validator) }
        }
    }

    private static let keptMax = 16
}
