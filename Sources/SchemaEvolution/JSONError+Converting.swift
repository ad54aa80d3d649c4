package import EventModel
package import JSONText

extension EvstoreError {
    /// Converts the error for a text that is not valid JSON.
    package init(_ error: JSONError) { self = .invalidJSON(reason: error.reason, offset: error.offset) }
}
