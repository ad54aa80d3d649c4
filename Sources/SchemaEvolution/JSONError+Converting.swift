package import EventModel
package import JSONText

extension EvstoreError {
    /// What a caller is told of a text that is not the JSON it should be.
    package init(_ error: JSONError) { self = .invalidJSON(reason: error.reason, offset: error.offset) }
}
