import Evstore
import EvstoreTesting
import Foundation
import TestSupport
import Testing
import Torturing

let mounting: Comment = "this user may not mount file systems"

@Suite("Disks of all kinds", .serialized)
struct DiskTests {
    @Test(
        "a store is not made on a file system that is not known to be safe, unless that is asked for",
        .enabled(if: MountedDisk.isPossible, mounting))
    func unknown() throws {
        let disk = try MountedDisk()
        let outcome = try disk.run(
            "ramfs",
            """
            tell evstore init --schemas "$SCHEMAS" --json
            tell evstore init --schemas "$SCHEMAS" --any-file-system
            tell evstore status --json
            tell evstore status --any-file-system
            """)
        try #require(outcome.lines.count == 4, "\(outcome.errors)")
        for line in [outcome.lines[0], outcome.lines[2]] { #expect(line.hasPrefix("1 ") && line.contains(#""code":"unsafeFileSystem""#)) }
        for line in [outcome.lines[1], outcome.lines[3]] { #expect(line.hasPrefix("0 ") && line.contains("ramfs")) }
    }

    @Test(
        "who watches a store in the lower layer of an overlay sees what others append there", .enabled(if: MountedDisk.isPossible, mounting)
    )
    func overlay() throws {
        let outcome = try MountedDisk().run(
            "tmpfs",
            """
            mkdir "$DISK/low" "$DISK/up" "$DISK/work" "$DISK/both"
            cat >"$DISK/all"; head -n 1 "$DISK/all" >"$DISK/first"
            evstore --store "$DISK/low/store" import "$DISK/first" --as v1 --schemas "$SCHEMAS" >/dev/null 2>&1
            mount -t overlay none -o "lowerdir=$DISK/low,upperdir=$DISK/up,workdir=$DISK/work" "$DISK/both" || exit 42
            "$EVSTORE" --store "$DISK/both/store" watch >"$DISK/seen" 2>"$DISK/told" &
            watcher=$!
            for _ in $(seq \(Patience.seconds * 10)); do grep -q watching "$DISK/told" && break; sleep 0.1; done
            evstore --store "$DISK/both/store" import "$DISK/all" --as v1 >/dev/null 2>&1
            for _ in $(seq \(Patience.seconds * 10)); do [ "$(wc -l <"$DISK/seen")" = 2 ] && break; sleep 0.1; done
            kill $watcher
            wc -l <"$DISK/seen"
            """, input: Orders.lines(0 ..< 3))
        if outcome.exit == 42 { return print("no overlay can be mounted here, and reading through one was not tried") }
        #expect(outcome.lines == ["2"], "\(outcome.output) \(outcome.errors)")
    }

    @Test(
        "on a full disk appends are refused and rollback, finalize and snapshots go on; the ballast comes back when there is room",
        .enabled(if: MountedDisk.isPossible, mounting))
    func full() throws {
        let disk = try MountedDisk()
        let outcome = try disk.run(
            "tmpfs -o size=96m",
            """
            head -n 50 >"$DISK/first"; cat >"$DISK/rest"
            evstore import "$DISK/first" --as v1 --schemas "$SCHEMAS" >/dev/null 2>&1
            evstore replay --to v5 --schemas "$SCHEMAS" >/dev/null 2>&1
            evstore import "$DISK/rest" --as v1 --schemas "$SCHEMAS" >/dev/null 2>&1
            size() { stat -c %s "$DISK/store/ballast"; }
            size
            fill
            tell evstore append order-x OrderPlaced '\(Orders.v5Payload("x"))' --json
            size
            tell evstore rollback --progress none
            size
            tell evstore snapshot take here
            tell evstore verify
            rm "$DISK/filler"
            tell evstore finalize v1
            size
            tell evstore status --exit-code
            fill
            tell evstore status --exit-code
            """, input: Orders.lines(0 ..< 6_000))
        let lines = outcome.lines
        try #require(lines.count == 11, "\(outcome.output) \(outcome.errors)")
        #expect(lines[0] == "8388608" && lines[2] == "8388608", "an append never takes the ballast")
        #expect(lines[1].hasPrefix("1 ") && lines[1].contains(#""code":"diskFull""#), "\(lines[1])")
        #expect(lines[3].hasPrefix("0 "), "\(lines[3])")
        #expect(lines[4] == "0", "the rollback took it")
        #expect(lines[5].hasPrefix("0 ") && lines[6].hasPrefix("0 "), "\(lines[5]) \(lines[6])")
        #expect(lines[7].hasPrefix("0 "), "\(lines[7])")
        #expect(lines[8] == "8388608", "it is filled up again")
        // A version above the live one waits.
        #expect(lines[9].hasPrefix("4 ") && lines[9].contains("health       good"), "\(lines[9])")
        #expect(lines[10].hasPrefix("1 ") && lines[10].contains("appends are refused"), "\(lines[10])")
    }

    @Test(
        "on a full disk, and on one that can't be written, a query gives the rows that there are and says how far they lag",
        .enabled(if: MountedDisk.isPossible, mounting), arguments: ["fill", "mount -o remount,ro \"$DISK\""])
    func queries(obstacle: String) throws {
        let disk = try MountedDisk()
        let outcome = try disk.run(
            "tmpfs -o size=96m",
            """
            cat >"$DISK/lines"
            evstore import "$DISK/lines" --as v1 --schemas "$SCHEMAS" >/dev/null 2>&1
            evstore query orders --count
            tail -n 1 "$DISK/lines" | sed 's/o9/x/g; s/line-//' | evstore append --lines - >/dev/null
            \(obstacle)
            tell evstore query orders x
            tell evstore query orders o7
            tell evstore query orders --count
            tell evstore read order-x
            mount -o remount,rw "$DISK"
            rm -f "$DISK/filler"
            evstore query orders --count
            """, input: Orders.lines(0 ..< 50))
        let lines = outcome.lines
        try #require(lines.count == 6, "\(outcome.output) \(outcome.errors)")
        #expect(lines[0] == "40" && lines[5] == "41")
        for line in lines[1 ... 3] { #expect(line.hasPrefix("0 ") && line.contains("is 1 event behind: "), "\(line)") }
        #expect(lines[2].contains(#""key":"o7""#) && lines[3].contains(" 40 "))
        #expect(lines[4].hasPrefix("0 ") && lines[4].contains("order-x"))
    }

    @Test(
        "where only a part of a write finds room, a rollback takes the ballast, a replay says that the disk is full, and so does status",
        .enabled(if: MountedDisk.isPossible, mounting), arguments: [("/data.mdb", 2), ("/log/data.mdb", 1)])
    func partOfAWrite(file: String, nth: Int) throws {
        let disk = try MountedDisk()
        var faulty = FaultyDisk(root: disk.directory.path)
        (faulty.fault, faulty.calls, faulty.file) = (DiskFault(.short, at: nth), "write", file)
        let fault = try faulty.environment.map { "\($0)='\($1)'" }.joined(separator: " ")
        let outcome = try disk.run(
            "tmpfs -o size=96m",
            """
            evstore import - --as v1 --schemas "$SCHEMAS" >/dev/null 2>&1
            evstore replay --to v1 --schemas "$SCHEMAS" >/dev/null 2>&1
            tell evstore status --json
            fill
            truncate -s -6m "$DISK/filler"
            tell evstore status --json
            tell env \(fault) "$EVSTORE" replay --to v5 --schemas "$SCHEMAS" --json
            tell evstore replay --to v5 --schemas "$SCHEMAS" --progress none
            tell env \(fault) "$EVSTORE" rollback --progress none
            stat -c %s "$DISK/store/ballast"
            """, input: Orders.lines(0 ..< 60))
        let lines = outcome.lines
        try #require(lines.count == 6, "\(outcome.output) \(outcome.errors)")
        #expect(lines[0].contains(#""healthy":true"#) && lines[1].contains(#""healthy":false"#), "\(lines[1])")
        #expect(lines[2].hasPrefix("1 ") && lines[2].contains(#""code":"diskFull""#), "\(lines[2])")
        #expect(lines[3].hasPrefix("0 "), "\(lines[3])")
        #expect(lines[4].hasPrefix("0 ") && lines[5] == "0", "\(lines[4])")
    }

    @Test(
        "a lock file that a copy lacks gets room from the ballast on a full disk; without one this is an error, and no signal",
        .enabled(if: MountedDisk.isPossible, mounting))
    func lockRoom() throws {
        let disk = try MountedDisk()
        let outcome = try disk.run(
            "tmpfs -o size=48m",
            """
            evstore init --schemas "$SCHEMAS" >/dev/null 2>&1
            rm "$DISK/store/log/lock.mdb"
            fill
            tell evstore status --json
            rm "$DISK/store/log/lock.mdb" "$DISK/store/ballast"
            fill
            tell evstore status --json
            rm "$DISK/filler"
            tell evstore status --json
            """)
        try #require(outcome.lines.count == 3, "\(outcome.errors)")
        #expect(outcome.lines[1].hasPrefix("1 ") && outcome.lines[1].contains(#""code":"diskFull""#), "\(outcome.lines[1])")
        for line in [0, 2] { #expect(outcome.lines[line].hasPrefix("0 "), "\(outcome.lines[line])") }
    }

    @Test(
        "files of locks that were copied as holes get room from the ballast on a full disk; without one this is an error, and no signal",
        .enabled(if: MountedDisk.isPossible, mounting))
    func holes() throws {
        let disk = try MountedDisk()
        let outcome = try disk.run(
            "tmpfs -o size=48m",
            """
            evstore init --schemas "$SCHEMAS" >/dev/null 2>&1
            hollow() {
              for name in lock.mdb turn; do
                bytes=$(stat -c %s "$DISK/store/log/$name")
                truncate -s 0 "$DISK/store/log/$name"
                truncate -s "$bytes" "$DISK/store/log/$name"
              done
            }
            hollow
            fill
            tell evstore status --json
            rm "$DISK/store/ballast"
            hollow
            fill
            tell evstore status --json
            rm "$DISK/filler"
            tell evstore status --json
            fill
            tell evstore read --json
            """)
        try #require(outcome.lines.count == 4, "\(outcome.errors)")
        #expect(outcome.lines[1].hasPrefix("1 ") && outcome.lines[1].contains(#""code":"diskFull""#), "\(outcome.lines[1])")
        for line in [0, 2, 3] { #expect(outcome.lines[line].hasPrefix("0 "), "\(outcome.lines[line])") }
    }
}

@Suite("After a disk has failed")
struct FailedDiskTests {
    @Test("whether a commit was made is not known, and nothing more is written until the store is opened again")
    func unknownOutcome() async throws {
        for nth in 1 ... 2 {
            let notes = try await TemporaryStore.notes()
            try await notes.store.close()
            let faulty = try Fault(call: "sync", error: EIO).program(.storeWorker, nth: nth, on: "/log/data.mdb")
            let outcome = try faulty.run("twice", notes.path)
            #expect(outcome.lines.prefix(2) == ["commitOutcomeUnknown", "commitOutcomeUnknown"], "call \(nth): \(outcome.output)")
            let again = try await EventStore.open(notes.path, options: .forTests)
            #expect(try await again.maintenance.verify(deep: true).ok)
            try await again.close()
        }
    }
}

@Suite("Others that have a store open")
struct OthersTests {
    @Test("whoever was killed while reading keeps no pages for more than some seconds, though nobody writes")
    func killedReader() async throws {
        let notes = try await TemporaryStore.notes()
        try await notes.store.close()
        let watching = try await EventStore.open(notes.path, readOnly: true, options: .forTests)
        let reader = try BuiltProgram.storeWorker.start(["hold", notes.path])
        var oldest: OldestReader?
        for _ in 0 ..< 2_400 where oldest == nil {
            try await Task.sleep(for: .milliseconds(50))
            oldest = try watching.status().oldestReader
        }
        let process = try #require(oldest).process
        #expect(process != getpid())
        _ = try BuiltProgram.storeWorker.run("append", notes.path, "\(1 << 26)", "100")
        #expect(try #require(try watching.status().oldestReader).commitsBehind >= 2)
        let words = try BuiltProgram(environment: ["EVSTORE_STORE": notes.path]).run("status").output
        #expect(words.contains("the oldest is process \(process)"), "\(words)")
        reader.send(signal: SIGKILL)
        _ = try reader.wait()
        let end = ContinuousClock.now + .seconds(120)
        while try watching.status().oldestReader?.process == process, ContinuousClock.now < end {
            try await Task.sleep(for: .milliseconds(100))
        }
        #expect(try watching.status().oldestReader?.process != process)
        try await watching.close()
    }

    @Test("a program that is run inherits no file of the log")
    func inherited() async throws {
        let notes = try await TemporaryStore.notes()
        let outcome = try BuiltProgram(path: "/bin/sh").run("-c", "ls -l /proc/self/fd")
        #expect(outcome.output.contains("/proc/") && !outcome.output.contains(".mdb"), "\(outcome.output)")
        try await notes.store.close()
    }

    @Test("where the address space has no room for the map, status still works and warns")
    func addressSpace() async throws {
        let notes = try await TemporaryStore.notes()
        try await notes.store.close()
        let shell = BuiltProgram(path: "/bin/sh", environment: ["EVSTORE_STORE": notes.path, "EVSTORE": BuiltProgram().path])
        let outcome = try shell.run("-c", #"ulimit -v 8000000; exec "$EVSTORE" status"#)
        #expect(outcome.exit == 0 && outcome.errors.contains("the address space has no room"), "\(outcome.errors)")
    }
}
