import Dispatch
import Foundation

// The main thread only waits: where it is left to the library of queues instead, valgrind ends with an error of its own.
let ended = DispatchSemaphore(value: 0)
Task.detached {
    do {
        try await Work.run(Words(Array(CommandLine.arguments.dropFirst())))
    } catch {
        FileHandle.standardError.write(Data("ours: \(error)\n".utf8))
        exit(1)
    }
    ended.signal()
}
ended.wait()
