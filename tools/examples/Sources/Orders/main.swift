import Evstore
import EvstoreService
import Foundation
import Hummingbird
import Logging
import ServiceLifecycle

// An order service: commands over HTTP, a read model, a consumer that sends mails, and a migration when it starts.
//
//   Orders RELEASE PORT STORE SCHEMAS MAILS
let arguments = CommandLine.arguments
guard arguments.count == 6, let release = Int(arguments[1]).flatMap(Release.init), let port = Int(arguments[2]) else {
    FileHandle.standardError.write(Data("usage: Orders 1|2 PORT STORE SCHEMAS MAILS\n".utf8))
    exit(2)
}
let mails = arguments[5]
let logger = Logger(label: "orders")

let metrics = StoreMetrics()
var options = Options()
options.commitObserver = metrics.observe
// Release 2 finds the store at version 1, builds version 2 beside it and flips; release 1 goes on at its own version meanwhile and after.
let store = try await EventStore.open(
    arguments[3], creatingWith: Schemas.load(arguments[4]), version: release.version, policy: .migrate(when: .lossless),
    options: options, logger: logger
) { event in
    if event.total > 0 { logger.info("\(event.step): \(event.done) of \(event.total)") }
}

/// At least once: the event's id tells a mail that came again.
@Sendable func mail(_ event: RecordedEvent) throws {
    let line = "\(event.id) \(event.stream) is paid\n"
    if !FileManager.default.fileExists(atPath: mails) { _ = FileManager.default.createFile(atPath: mails, contents: nil) }
    let file = try FileHandle(forWritingTo: URL(filePath: mails))
    try file.seekToEnd()
    try file.write(contentsOf: Data(line.utf8))
    try file.close()
}

let orders = try Orders(store, release)
var application = Application(
    router: orders.routes(), configuration: .init(address: .hostname("127.0.0.1", port: port)), logger: logger)
application.addServices(
    StoreService(store), ConsumerService(store, "mailer", matching: .type("OrderPaid")) { event, _ in try mail(event) },
    metrics.service(of: store, logger: logger))
try await application.runService()
