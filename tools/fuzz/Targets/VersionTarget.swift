import Foundation
import SchemaEvolution
import SchemaTools

extension FuzzTarget {
    private static let root = URL(filePath: #filePath).deletingLastPathComponent().deletingLastPathComponent().deletingLastPathComponent()

    /// A version file that is taken is kept as a text that reads as the same file, and so does its layout.
    static let version = FuzzTarget(
        name: "version",
        seeds: { try (1 ... 5).map { [UInt8](try Data(contentsOf: root.appending(path: "bench/orders/v\($0).yaml"))) } },
        take: { bytes in
            let name = bytes.first == UInt8(ascii: "{") ? "v1.json" : "v1.yaml"
            let file = try VersionFile(text: bytes, file: name)
            let kept: VersionFile
            do { kept = try VersionFile(text: file.canonical, file: "kept.json") } catch {
                throw Broken(description: "what a store keeps can't be read: \(error)")
            }
            try hold(kept == file && kept.digest == file.digest, "what a store keeps is another file")
            let laid = try FileLayout.format(bytes, file: name, as: .yaml)
            let again: VersionFile
            do { again = try VersionFile(text: Array(laid.utf8), file: "laid.yaml") } catch {
                throw Broken(description: "a layout can't be read: \(error)")
            }
            try hold(again == file, "a layout is another file")
        })
}
