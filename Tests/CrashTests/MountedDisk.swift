import EvstoreTesting
import TestSupport

/// A file system of its own, mounted for one shell alone: gone when that ends.
struct MountedDisk {
    let directory: TemporaryDirectory

    /// Whether this user may mount anything.
    static let isPossible: Bool = {
        do {
            return try MountedDisk().run("ramfs", "true").exit == 0
        } catch { return false }
    }()

    init() throws { directory = try TemporaryDirectory() }

    /// Runs a shell script with `mount -t KIND` at `$DISK` and the built program as `evstore`; the store is `$DISK/store`.
    func run(_ kind: String, _ script: String, input: String = "") throws -> BuiltProgram.Outcome {
        let shell = BuiltProgram(
            path: "/usr/bin/env",
            environment: [
                "DISK": directory.path, "EVSTORE_STORE": directory.store, "SCHEMAS": Orders.schemas,
                "EVSTORE": BuiltProgram().path,
            ])
        let preparation = """
            set -e
            mount -t \(kind) none "$DISK"
            evstore() { "$EVSTORE" "$@"; }
            fill() { dd if=/dev/zero of="$DISK/filler" bs=4k 2>/dev/null || true; }
            tell() { set +e; "$@" >"$DISK/../told-$$" 2>&1; code=$?; set -e; echo "$code $(tr '\\n' ' ' <"$DISK/../told-$$")"; rm -f "$DISK/../told-$$"; }
            """
        return try shell.run(["unshare", "-m", "sh", "-c", preparation + "\n" + script], input: input)
    }
}
