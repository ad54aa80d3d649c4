package import EventModel
internal import FoundationEssentials
internal import Glibc
internal import Platform

/// Runs calls of Foundation that read or write files, and gives their errors in the words of the operating system or of the decoder.
package func onFiles<R>(_ doing: String, _ body: () throws -> R) throws(EvstoreError) -> R {
    do { return try body() } catch let error as EvstoreError { throw error } catch {
        let code = ((error as? CocoaError)?.underlying as? POSIXError)?.code
        throw .ioFailure(doing: doing, reason: code.map { SystemFailure(code: $0.rawValue).description } ?? SwiftValues.reason(error))
    }
}
