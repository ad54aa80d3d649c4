// libFuzzer on the doors for bytes from outside; `tools/fuzz/libfuzzer` builds and starts it.

import CLibFuzzer
import Foundation

@main
enum Program {
    private static let usage = "evstore-libfuzzer list | TARGET --seeds DIRECTORY | TARGET OPTION-OF-LIBFUZZER..."
    private static let target = FuzzTarget.all.first { $0.name == CommandLine.arguments.dropFirst().first }

    static func main() throws {
        let words = CommandLine.arguments
        if words.dropFirst() == ["list"] { return print(FuzzTarget.all.map(\.name).joined(separator: "\n")) }
        guard let target else {
            FileHandle.standardError.write(Data((usage + "\n").utf8))
            exit(64)
        }
        if words.count == 4, words[2] == "--seeds" {
            for (index, seed) in try target.seeds().enumerated() {
                // A seed that is not taken is none.
                try target.take(seed)
                try Data(seed).write(to: URL(filePath: "\(words[3])/seed-\(index)"))
            }
            return
        }
        // Its words begin with the program's name.
        var count = CommandLine.argc - 1
        var arguments: UnsafeMutablePointer<UnsafeMutablePointer<CChar>?>? = unsafe CommandLine.unsafeArgv + 1
        exit(
            unsafe LLVMFuzzerRunDriver(&count, &arguments) { unsafe takeOneInput($0, $1) })
    }

    fileprivate static func take(_ bytes: [UInt8]) {
        do { try target?.take(bytes) } catch let broken as Broken { fatalError("\(broken)") } catch {}
    }
}

/// What libFuzzer's own `main` would call: its library wants it, although that `main` is not ours.
@_cdecl("LLVMFuzzerTestOneInput")
func takeOneInput(_ bytes: UnsafePointer<UInt8>?, _ count: Int) -> Int32 {
    Program.take(unsafe Array(UnsafeBufferPointer(start: bytes, count: count)))
    return 0
}
