import Foundation
import TestSupport

/// A pipe that holds a text and is closed for writing.
final class FilledPipe {
    private let pipe: OpenPipe

    var descriptor: Int32 { pipe.reading.fileDescriptor }

    init(_ text: String) throws {
        pipe = try OpenPipe()
        let writer = pipe.writing
        DispatchQueue.global().async {
            writer.write(Data(text.utf8))
            writer.closeFile()
        }
    }

    /// Gives so many lines at a time, over and over, each after a pause that a reader may take for the writer's last word.
    /// A text that a pipe holds at once: nobody has to read it.
    init(_ text: String, pieces: [Int]) throws {
        pipe = try OpenPipe()
        let lines = text.split(separator: "\n").map { Data(($0 + "\n").utf8) }
        // The pipe stays open for reading until all is written: else the signal of a broken one would end the tests.
        Thread.detachNewThread { [pipe] in
            var (next, piece) = (0, 0)
            while next < lines.count {
                let end = min(lines.count, next + pieces[piece % pieces.count])
                pipe.writing.write(lines[next ..< end].reduce(Data(), +))
                (next, piece) = (end, piece + 1)
                usleep(30_000)
            }
            pipe.writing.closeFile()
        }
    }
}
