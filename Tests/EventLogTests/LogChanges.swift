import LMDB

@testable import EventLog

extension EventLog {
    /// Changes LMDB's tables behind the log's back, once they hold everything.
    func change<R>(_ body: (inout WriteTransaction) throws -> R) throws -> R {
        try access.environment.write { transaction in
            try access.ahead?.apply(&transaction)
            return try body(&transaction)
        }
    }
}
