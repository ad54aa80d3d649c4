internal import EventModel
internal import Platform

/// Keeps validators between appends. Where a validator is of an earlier state of the store, the log notices and asks for a new check.
final class AppendValidatorPool: Sendable {
    private let idle = Monitor<[AppendValidator]>([])

    /// Returns a kept validator. Makes one where none is kept or a fresh one is asked for; a new one replaces those of earlier states.
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
