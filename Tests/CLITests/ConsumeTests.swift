import EvstoreTesting
import Foundation
import TestSupport
import Testing

/// A program for each event: lines in, an exit code out.
@Suite("consume and consumers")
struct ConsumeTests {
    /// A store at v1 with four events, and a program that keeps what it is given.
    private func shop(_ script: String) throws -> Shop {
        let shop = try Shop.open()
        try shop.write("handle", "#!/bin/sh\ncd '\(shop.directory.path)' || exit 9\n\(script)\n")
        try FileManager.default.setAttributes([.posixPermissions: 0o700], ofItemAtPath: shop.path("handle"))
        return shop
    }

    @Test("counts a batch that failed as the first attempt of its events, and tries each alone at least once", arguments: [1, 2, 3])
    func attemptsOfBatches(_ most: Int) throws {
        let shop = try shop("echo $EVSTORE_ATTEMPT >>tries; exit 1")
        _ = try shop.run("consume mailer --once --attempts \(most) --batch 4 -- sh \(shop.path("handle"))")
        let alone = Array(2 ... max(most, 2))
        #expect(try shop.text("tries").split(separator: "\n").map(String.init) == ([1] + alone + alone + alone + alone).map(String.init))
    }

    @Test("gives each event once, as lines that read prints, in batches; the next run goes on behind them")
    func once() throws {
        let shop = try shop("cat >>seen; echo \"$EVSTORE_CONSUMER $EVSTORE_ATTEMPT\" >>told")
        let outcome = try shop.must("consume mailer --once --batch 3 -- sh \(shop.path("handle"))")
        #expect(outcome.output == "handled    4 events, up to position 4\n")
        #expect(try shop.text("seen") == shop.must("read").output)
        #expect(try shop.text("told") == "mailer 1\nmailer 1\n")
        try shop.must(#"append order-3 OrderPaid {"id":"3"}"#)
        let again = try shop.must("consume mailer --once --json -- sh \(shop.path("handle"))")
        #expect(again.line == #"{"name":"mailer","position":5,"handled":1,"parked":0}"#)
        #expect(try shop.text("seen").split(separator: "\n").count == 5)
    }

    @Test("waits for what another process appends, and ^C ends it with 0 when the program at work has ended", arguments: [SIGINT, SIGTERM])
    func waiting(_ signal: Int32) throws {
        let shop = try shop("cat >/dev/null; touch begun; sleep 1; echo done >>seen")
        let line = "exec '\(shop.program.path)' consume mailer --from end -- sh handle >\(shop.path("out")) 2>\(shop.path("err"))"
        let consuming = try shell(shop, "cd '\(shop.directory.path)'; \(line)")
        try waitUntil { try shop.run("consumers list --json").line.contains("consuming as mailer") }
        try shop.must(#"append order-3 OrderPaid {"id":"3"}"#)
        try waitUntil { FileManager.default.fileExists(atPath: shop.path("begun")) }
        consuming.send(signal: signal)
        #expect(try consuming.wait().exit == 0)
        #expect(try shop.text("seen") == "done\n")
        #expect(try shop.text("out") == "handled    1 event, up to position 5\n")
        #expect(try shop.text("err").isEmpty)
    }

    @Test("an event that fails is tried again, then parked and listed; it is retried, or dropped with a reason that the journal has")
    func parking() throws {
        let shop = try shop("if grep -q order-2 && test ! -e mended; then exit 7; fi")
        let program = shop.path("handle")
        let outcome = try shop.run("consume mailer --once --attempts 2 --batch 4 -- sh \(program)")
        #expect(outcome.exit == 8)
        #expect(try shop.run("consume mailer --once -- sh \(program)").exit == 8, "it is parked still")
        #expect(outcome.output.hasPrefix("handled    3 events, up to position 4; 1 event parked: evstore consumers parked mailer"))
        let parked = try shop.must("consumers parked mailer --json").line
        #expect(try member(parked, "position") == "2" && member(parked, "attempts") == "2" && member(parked, "retry") == "false")
        #expect(try member(parked, "error")?.hasSuffix(#"/sh ended with exit code 7""#) == true)
        try shop.write("mended", "")
        #expect(try shop.must("consumers retry mailer --position 2").output == "1 event is tried again\n")
        try shop.must("consume mailer --once -- sh \(program)")
        #expect(try shop.must("consumers parked mailer").output.isEmpty)
        #expect(try shop.run("consumers retry mailer --position 2").exit == 2)
        #expect(try shop.run("consume other --once --attempts 1 -- false").exit == 8)
        let refused = try shop.run("consumers drop other --all --reason=")
        #expect(refused.exit == 2 && refused.errors.contains("for a reason, and this one is empty"), "\(refused.errors)")
        #expect(try shop.must("consumers drop other --all --reason gone").output == "4 events are given up\n")
        #expect(try shop.must("journal").output.contains("other: drop: gone, 4 events"))
    }

    @Test("a program that runs longer than it may is ended with all that it has begun, also where it won't, and tried again")
    func timeLimit() throws {
        let shop = try shop(
            """
            trap '' TERM; echo $$ >>begun
            (trap '' TERM; exec sleep 600) & echo $! >>begun
            test -e hung && exit
            touch hung; wait
            """)
        let began = ContinuousClock.now
        let outcome = try shop.must("consume mailer --once --type OrderPaid --time-limit 0.5 -- sh \(shop.path("handle"))")
        #expect(outcome.output.hasPrefix("handled    1 event"))
        #expect(began.duration(to: .now) > .seconds(5), "it has its time to end")
        // On a busy machine there are more attempts, which are ended, too.
        let processes = try shop.text("begun").split(separator: "\n").compactMap { Int32($0) }
        try #require(processes.count >= 4)
        // Whom nobody has waited for yet has no command line any more.
        func hasEnded(_ process: Int32) -> Bool { FileManager.default.contents(atPath: "/proc/\(process)/cmdline")?.isEmpty ?? true }
        try waitUntil { processes.dropLast(2).allSatisfy(hasEnded) }
        kill(processes[processes.count - 1], SIGKILL)
        for wrong in ["0", "-1", "nan", "soon"] {
            #expect(try shop.run("consume mailer --time-limit=\(wrong) -- true").exit == 2, "\(wrong)")
        }
        let parked = try shop.run("consume other --once --attempts 1 --time-limit 0.1 --type OrderPaid -- sleep 60")
        #expect(parked.exit == 8)
        #expect(try shop.must("consumers parked other").output.contains("ran longer than it may"))
    }

    @Test("what a program has begun is ended too where the program itself ends as soon as it is told to")
    func timeLimitOfChildren() throws {
        let shop = try shop("(trap '' TERM; exec sleep 600) & echo $! >begun; wait")
        try shop.write("begun", "")
        var found: Int32?
        // On a busy machine it may be ended before it has begun anything.
        for attempt in 0 ..< 50 where found == nil {
            let line = "consume mailer-\(attempt) --once --attempts 1 --time-limit 0.5 --type OrderPaid -- sh \(shop.path("handle"))"
            #expect(try shop.run(line).exit == 8)
            found = Int32(try shop.text("begun").filter(\.isNumber))
        }
        let child = try #require(found)
        try waitUntil { FileManager.default.contents(atPath: "/proc/\(child)/cmdline")?.isEmpty ?? true }
    }

    @Test("stops where it shall, and goes on with the same event; what can't be started stops it too")
    func stopping() throws {
        let shop = try shop("cat >>seen; test -e mended")
        let line = "consume mailer --once --attempts 2 --on-failure stop --json -- sh \(shop.path("handle"))"
        let outcome = try shop.run(line)
        #expect(outcome.exit == 3)
        #expect(try member(outcome.line, "error", "code") == "\"consumerStopped\"")
        #expect(try member(shop.must("consumers list --json").line, "failing") == "1")
        try shop.write("mended", "")
        #expect(try member(shop.must(line).line, "handled") == "4")
        try shop.write("nothing", "no program")
        try FileManager.default.setAttributes([.posixPermissions: 0o700], ofItemAtPath: shop.path("nothing"))
        #expect(try shop.run("consume other --once -- \(shop.path("nothing"))").exit == 3)
        #expect(try shop.must("consumers parked other").output.isEmpty)
    }

    @Test("finalize names who would be left behind, and does nothing without consent")
    func finalize() throws {
        let shop = try Shop.migrated()
        try shop.must("consume mailer --once --at v1 -- true")
        let refused = try shop.run("finalize v3")
        #expect(refused.exit == 10 && refused.errors.contains("mailer sees events at v1") && refused.errors.contains("--leave-consumers"))
        #expect(try member(shop.must("status --json").line, "floor") == "1")
        #expect(try member(shop.must("finalize v3 --leave-consumers --json").line, "floor") == "3")
        #expect(try shop.run("consume mailer --once --at v1 -- true").exit != 0)
        try shop.must("consume mailer --once --at v3 -- true")
    }

    @Test("wrong uses are told")
    func wrong() throws {
        let shop = try Shop.open()
        for line in [
            "consume", "consume mailer", "consume mailer -- ./nothing", "consume a/b -- true", "consume mailer --from there -- true",
            "consume mailer --type Nothing -- true", "consume mailer --batch 0 -- true", "consumers parked nobody",
            "consumers drop nobody --all",
            "consumers reset nobody --to start", "consumers remove nobody", "consume mailer --at v9 -- true",
        ] {
            let outcome = try shop.run(line)
            #expect((2 ... 3).contains(outcome.exit), "\(line): \(outcome.exit) \(outcome.errors)")
            #expect(!outcome.errors.isEmpty, "\(line)")
        }
        try shop.must("consume mailer --once -- true")
        #expect(try shop.run("consumers reset mailer --to 99").exit == 2)
        try shop.must("consumers reset mailer --to 2")
        #expect(try member(shop.must("consume mailer --once --json -- true").line, "handled") == "2")
        try shop.must("consumers remove mailer")
        #expect(try shop.must("consumers list").output.isEmpty)
    }
}
