import Foundation
import TestSupport
import Torturing

/// A change of one file of a store, as a disk, a copy or somebody's hand makes it.
struct Damage {
    let file: String
    let what: String

    private static let page = 4_096

    /// Changes one file below `store`, most often the favourite one, else often a read model; nil where the draw changes nothing.
    init?(in store: String, of favourite: String? = "log/data.mdb", _ chance: inout SeededGenerator) throws {
        let files = try FileManager.default.subpathsOfDirectory(atPath: store).sorted().filter { path in
            var isDirectory: ObjCBool = false
            _ = unsafe FileManager.default.fileExists(atPath: store + "/" + path, isDirectory: &isDirectory)
            return !isDirectory.boolValue && !path.contains("lock")
        }
        let models = files.filter { $0.hasPrefix("generations/") && $0.hasSuffix("/data.mdb") }
        let preferred: String? =
            switch Int.random(in: 0 ..< 10, using: &chance) {
            case 0 ..< 5: favourite
            case 5 ..< 8: models.randomElement(using: &chance)
            default: nil
            }
        guard let name = preferred ?? files.randomElement(using: &chance) else { return nil }
        var bytes = [UInt8](try Data(contentsOf: URL(filePath: store + "/" + name)))
        guard !bytes.isEmpty else { return nil }
        let before = bytes
        let what = Self.change(&bytes, &chance)
        if Note.isSame(bytes, before) { return nil }
        try SparseFile.write(bytes, to: store + "/" + name)
        (file, self.what) = (name, what)
    }

    private static func change(_ bytes: inout [UInt8], _ chance: inout SeededGenerator) -> String {
        let pages = max(bytes.count / page, 1)
        let (one, other) = (Int.random(in: 0 ..< pages, using: &chance), Int.random(in: 0 ..< pages, using: &chance))
        switch Int.random(in: 0 ..< 12, using: &chance) {
        case 0 ..< 3: return flip(&bytes, 0 ..< bytes.count, &chance)
        case 3 ..< 6:
            // The header of a page and the places of its nodes, most often of a page of a tree.
            let trees = (0 ..< pages).filter { $0 * page + 11 < bytes.count && [1, 2].contains(bytes[$0 * page + 10]) }
            let start = min((trees.randomElement(using: &chance) ?? one) * page, bytes.count - 1)
            return flip(&bytes, start ..< min(start + 80, bytes.count), &chance)
        case 6 ..< 8:
            let start = Bool.random(using: &chance) && bytes.count > page ? page : 0
            return flip(&bytes, start ..< min(start + 152, bytes.count), &chance)
        case 8:
            let end = Bool.random(using: &chance) ? one * page : Int.random(in: 0 ..< bytes.count, using: &chance)
            bytes.removeLast(bytes.count - end)
            return "cut off at \(end)"
        case 9:
            overwrite(&bytes, one, with: Array(slice(bytes, other)))
            return "page \(other) where page \(one) was"
        case 10:
            let kept = Array(slice(bytes, one))
            overwrite(&bytes, one, with: Array(slice(bytes, other)))
            overwrite(&bytes, other, with: kept)
            return "pages \(one) and \(other) exchanged"
        default:
            overwrite(&bytes, one, with: Array(repeating: 0, count: slice(bytes, one).count))
            return "page \(one) of zeros"
        }
    }

    /// Changes one to four bytes.
    private static func flip(_ bytes: inout [UInt8], _ range: Range<Int>, _ chance: inout SeededGenerator) -> String {
        let places = (0 ..< Int.random(in: 1 ... 4, using: &chance)).map { _ in Int.random(in: range, using: &chance) }
        for place in places { bytes[place] ^= UInt8.random(in: 1 ... 255, using: &chance) }
        return "bytes \(places.map(String.init).joined(separator: ", "))"
    }

    private static func slice(_ bytes: [UInt8], _ number: Int) -> ArraySlice<UInt8> {
        bytes[min(number * page, bytes.count) ..< min((number + 1) * page, bytes.count)]
    }

    private static func overwrite(_ bytes: inout [UInt8], _ number: Int, with page: [UInt8]) {
        let room = min(page.count, bytes.count - number * Self.page)
        if room > 0 { bytes.put(page, 0 ..< min(room, page.count), at: number * Self.page) }
    }
}
