import Foundation

/// A pipe that holds a text and is closed for writing.
final class FilledPipe {
    private let pipe = Pipe()

    var descriptor: Int32 { pipe.fileHandleForReading.fileDescriptor }

    init(_ text: String) throws {
        let writer = pipe.fileHandleForWriting
        DispatchQueue.global().async {
            writer.write(Data(text.utf8))
            writer.closeFile()
        }
    }
}
