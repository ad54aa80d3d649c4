// Whether the store keeps its promises under power cuts, kills, failing disks and damaged files. `tools/torture --help` says how.

import ArgumentParser
import Foundation

@main
enum Program {
    static func main() async {
        let arguments = Array(CommandLine.arguments.dropFirst())
        if arguments.first == "worker" { await Worker.main(Array(arguments.dropFirst())) } else { await Torture.main(arguments) }
    }
}
