internal import CTestSupport
package import Foundation

/// A pipe whose ends no program inherits. Foundation's is inherited by whatever another test starts meanwhile, a server of
/// PostgreSQL's too, and then has no end for as long as that lives.
package final class OpenPipe: Sendable {
    package let reading: FileHandle
    package let writing: FileHandle

    package init() throws {
        var ends: [Int32] = [-1, -1]
        let code = unsafe test_pipe(&ends)
        if code != 0 { throw CocoaError(.fileReadUnknown) }
        reading = FileHandle(fileDescriptor: ends[0], closeOnDealloc: true)
        writing = FileHandle(fileDescriptor: ends[1], closeOnDealloc: true)
    }
}
