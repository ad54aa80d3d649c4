import EvstoreTesting
import Foundation
import Glibc
import LMDB
import Platform
import Testing

@Suite("What root makes in another user's place", .enabled(if: getuid() == 0, "only root is root"))
struct RootTests {
    @Test("belongs to that user, who is not locked out; what was there, and what a link leads to, is left alone")
    func given() throws {
        let directory = try TemporaryDirectory()
        let place = directory.path + "/place"
        try Directory.create(place)
        let code = unsafe chown(place, 12_345, 12_346)
        #expect(code == 0)
        try Directory.create(place + "/below")
        try File(place + "/below/file", .createNew).write([1])
        let environment = try Environment.open(
            directory: place + "/below",
            .init(tables: ["a"], mapBytes: 1 << 24, readersMax: 10, readOnly: false, creating: true))
        environment.close()
        for name in ["below", "below/file", "below/data.mdb", "below/lock.mdb"] {
            #expect(try Directory.ownStatus(place + "/" + name)?.owner == 12_345, "\(name)")
        }
        try Data("x".utf8).write(to: URL(filePath: directory.path + "/mine"))
        try FileManager.default.linkItem(atPath: directory.path + "/mine", toPath: place + "/linked")
        _ = try File(place + "/linked", .create)
        try Data().write(to: URL(filePath: place + "/empty"))
        try FileManager.default.linkItem(atPath: place + "/empty", toPath: directory.path + "/empty")
        _ = try File(place + "/empty", .create)
        #expect(try Directory.ownStatus(directory.path + "/mine")?.owner == 0 && Directory.ownStatus(directory.path + "/empty")?.owner == 0)
        _ = try File(directory.path + "/file", .createNew)
        #expect(try Directory.ownStatus(directory.path + "/file")?.owner == 0)
    }
}
