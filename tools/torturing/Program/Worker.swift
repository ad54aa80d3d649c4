import Evstore
import Foundation
import Torturing

/// The processes that the torture starts: those that work, and are hurt, and those that judge what is left.
enum Worker {
    static let usage = """
        worker prepare JOB SCENE | run JOB SCENE SEED | judge JOB SCENE... | look STORE | see STREAMS STORE... | peer WHAT SCENE SEED \
        | hold SCENE | bystand SCENE ID GO | race STORE ID SEED OPERATIONS NOTES | anomalies STORE NOTES... | grow STORE SEED | keep SCENE SEED \
        | salvage SCENE SEED FILES | seal SCENE SEED EVENTS | forge SCENE SEED EDITS | bound STORE WHAT NUMBER [SECONDS] | full JOB PLACE BASE ROOM \
        | shutdown JOB PLACE BASE IMAGE MILLISECONDS | phase WHAT PLACE BASE IMAGE MAKER SEED LENGTHS... \
        | blocks JOB PLACE BASE SERVER MAKER STATES SEED | live PART PLACE SEED | drive SCENE EVENTS | consume SCENE VERSION SEED | arrived SCENE | consumed SCENE KILLED \
        | serve SCENE RUN SEED | served SCENE LAST | remains PLACE IMAGE GROUND SEED
        """

    static func main(_ words: [String]) async {
        do {
            try await run(words)
            exit(0)
        } catch {
            FileHandle.standardError.write(Data("refused: \(Self.words(error))\n".utf8))
            exit(error is EvstoreError ? 1 : 3)
        }
    }

    private static func run(_ words: [String]) async throws {
        let job = words.count > 1 ? Job(rawValue: words[1]) : nil
        switch (words.first, job, words.count) {
        case ("prepare", let job?, 3): try await JobWork(job, in: words[2]).prepare()
        case ("run", let job?, 4): try await JobWork(job, in: words[2]).run(seed: Int(words[3]) ?? 0)
        case ("judge", let job?, 3...):
            for scene in words.dropFirst(2) { try say(await JobWork(job, in: scene).judge()) }
        case ("look", _, 2): try say(await Facts.look(at: words[1]))
        case ("see", _, 3...):
            let streams = words[1].split(separator: ",").map(String.init)
            for store in words.dropFirst(2) { try say(await Sight.look(at: store, streams: streams)) }
        case ("peer", _, 4): try await Peer(rawValue: words[1])?.run(in: words[2], seed: Int(words[3]) ?? 0)
        case ("hold", _, 2): try await Holder(scene: words[1]).run()
        case ("bystand", _, 4): try say(await Bystander(scene: words[1], id: Int(words[2]) ?? 0).run(go: words[3]))
        case ("race", _, 6):
            try await Race(
                store: words[1], id: Int(words[2]) ?? 0, seed: Int(words[3]) ?? 0, operations: Int(words[4]) ?? 0, notes: words[5]
            ).run()
        case ("anomalies", _, 3...): try say(await Race.anomalies(words[1], Array(words.dropFirst(2))))
        case ("grow", _, 3): try say(await Growth(store: words[1], seed: Int(words[2]) ?? 0).run())
        case ("keep", _, 3): try say(await Safekeeping(scene: words[1], seed: Int(words[2]) ?? 0).run())
        case ("salvage", _, 4): try say(await Salvaging(scene: words[1], seed: Int(words[2]) ?? 0, files: Int(words[3]) ?? 0).run())
        case ("seal", _, 4):
            var secrecy = try await Secrecy(scene: words[1], seed: Int(words[2]) ?? 0, events: Int(words[3]) ?? 0)
            try say(await secrecy.run())
        #if TESTABLE
            case ("forge", _, 4): try say(await Forging(scene: words[1], seed: Int(words[2]) ?? 0, edits: Int(words[3]) ?? 0).run())
        #endif
        case ("bound", _, 4 ... 5):
            try await Bounding(store: words[1]).run(words[2], Int(words[3]) ?? 0, seconds: words.count == 5 ? Double(words[4]) : nil)
        case ("full", let job?, 5): try say(FullDisk(job: job, place: words[2], base: words[3], room: Int(words[4]) ?? 0).run())
        case ("shutdown", let job?, 6):
            try say(FileSystemCut(job: job, place: words[2], base: words[3], image: words[4], milliseconds: Int32(words[5]) ?? 0).run())
        case ("phase", _, 10):
            guard let phase = Phase(rawValue: words[1]) else { throw EvstoreError.misuse(usage) }
            try say(
                PhaseCut(
                    phase: phase, place: words[2], base: words[3], image: words[4], maker: words[5],
                    lengths: words[7...].compactMap { Int($0) }, seed: UInt64(words[6]) ?? 0
                ).run())
        case ("blocks", let job?, 8):
            try say(
                BlockCuts(
                    job: job, place: words[2], base: words[3], server: words[4], maker: words[5], states: Int(words[6]) ?? 0,
                    seed: UInt64(words[7]) ?? 0
                ).run())
        case ("drive", _, 3): try await Consuming(scene: words[1]).drive(events: Int(words[2]) ?? 0)
        case ("consume", _, 4):
            try await Consuming(scene: words[1]).consume(at: SchemaVersion(UInt32(words[2]) ?? 1), seed: Int(words[3]) ?? 0)
        case ("arrived", _, 2): try say(await Consuming(scene: words[1]).hasArrived())
        case ("consumed", _, 3):
            let killed = Set(words[2].split(separator: ",").compactMap { Int32($0) })
            try say(await Consuming(scene: words[1]).judge(killed: killed))
        #if Service
            case ("serve", _, 4): try await Serving(scene: words[1]).serve(run: Int(words[2]) ?? 0, seed: UInt64(words[3]) ?? 0)
            case ("served", _, 3): try say(await Serving(scene: words[1]).judge(isLast: words[2] == "last"))
        #endif
        case ("live", _, 4): try await Remains(place: words[2], seed: Int(words[3]) ?? 0).live(words[1])
        case ("remains", _, 5):
            guard let ground = Ground.all.first(where: { $0.name == words[3] }) else { throw EvstoreError.misuse(usage) }
            try say(Remains(place: words[1], seed: Int(words[4]) ?? 0).run(on: ground, image: words[2]))
        default: throw EvstoreError.misuse(usage)
        }
    }

    /// One line of JSON, written at once: what a process has said it has said, however it ends.
    static func say(_ value: some Encodable) throws {
        let encoder = JSONEncoder()
        encoder.outputFormatting = .withoutEscapingSlashes
        FileHandle.standardOutput.write(try encoder.encode(value) + Data([10]))
    }

    static func words(_ error: any Error) -> String {
        guard let error = error as? EvstoreError else { return "\(error)" }
        return "\(error.code): \(error.message)"
    }

    /// Stores of the torture are small, and many.
    static var options: Options { options(nil) }

    static func options(_ secret: StoreSecret?) -> Options {
        var options = Options()
        options.secret = secret
        (options.mapBytes, options.ballastBytes, options.freeDiskFloorBytes) = (1 << 26, 0, 0)
        (options.appendDeadline, options.readModelDeadline) = (.seconds(100), .seconds(100))
        options.replayJobs = 2
        return options
    }
}
