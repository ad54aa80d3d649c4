internal import EventModel
internal import System

/// Validators between appends. One that has been overtaken is found out by the log, which asks to check again.
final class AppendValidatorPool: Sendable {
    private let idle = Monitor<[AppendValidator]>([])

    /// One that is there, or one made now where there is none, or a fresh one is asked for: then those that were made for
    /// an earlier state are forgotten.
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
