// swift-tools-version: 6.2
// Tested with Swift 6.3.1. The oldest compiler that takes it is 6.2.3, which brought SE-0487 (`@nonexhaustive`).
import PackageDescription

/// The gate treats warnings as errors, and tests optimized code too; a user of the package does not have to.
let strict: [SwiftSetting] =
    Context.environment["EVSTORE_STRICT"] == nil
    ? [] : [.treatAllWarnings(as: .error), .unsafeFlags(["-enable-testing"], .when(configuration: .release))]

/// Whether tests and torture may reach into a room: always in a debug build, in an optimized one where the gate builds it.
let reaching: [SwiftSetting] =
    [.define("TESTABLE", .when(configuration: .debug))] + (Context.environment["EVSTORE_STRICT"] == nil ? [] : [.define("TESTABLE")])

/// Every target of ours: language mode 6, strict memory safety, explicit existentials, and imports
/// that name what they use.
let house: [SwiftSetting] =
    strict + [
        .strictMemorySafety(),
        .enableUpcomingFeature("ExistentialAny"),
        .enableUpcomingFeature("InternalImportsByDefault"),
        .enableUpcomingFeature("MemberImportVisibility"),
    ]

/// For the rooms that return lent bytes from a function; their callers do not need it.
let lending: [SwiftSetting] = house + [.enableExperimentalFeature("Lifetimes")]

/// A build whose programs can be told to leave out one guard (`tools/mutants`).
let mutants: [SwiftSetting] = Context.environment["EVSTORE_MUTANTS"] == nil ? [] : [.define("EVSTORE_MUTANTS")]

let package = Package(
    name: "evstore",
    products: [
        .library(name: "Evstore", targets: ["Evstore"]),
        .library(name: "EvstoreTesting", targets: ["EvstoreTesting"]),
        .library(name: "EvstoreCLI", targets: ["EvstoreCLI"]),
        .executable(name: "evstore", targets: ["evstore"]),
        .library(name: "EvstoreService", targets: ["EvstoreService"]),
        .library(name: "EvstoreCluster", targets: ["EvstoreCluster"]),
    ],
    traits: [
        .trait(
            name: "Service",
            description: "EvstoreService, and `evstore serve`: consumers, shutdown, metrics, traces, and a page to look at."),
        .default(enabledTraits: ["Service"]),
    ],
    dependencies: [
        .package(url: "https://github.com/apple/swift-crypto", from: "4.5.0"),
        .package(url: "https://github.com/jpsim/Yams", from: "6.2.0"),
        .package(url: "https://github.com/apple/swift-log", from: "1.16.0"),
        .package(url: "https://github.com/apple/swift-argument-parser", from: "1.8.0"),
        // For the trait Service alone.
        .package(url: "https://github.com/swift-server/swift-service-lifecycle", from: "2.13.0"),
        .package(url: "https://github.com/apple/swift-metrics", from: "2.13.0"),
        .package(url: "https://github.com/apple/swift-distributed-tracing", from: "1.7.0"),
        .package(url: "https://github.com/apple/swift-nio", from: "2.101.0"),
    ],
    targets: [
        // Row 0: bytes, and the libraries that the system has.
        .systemLibrary(name: "CLMDB", pkgConfig: "lmdb", providers: [.apt(["liblmdb-dev"])]),
        .systemLibrary(name: "CXXHash", pkgConfig: "libxxhash", providers: [.apt(["libxxhash-dev"])]),
        .systemLibrary(name: "CZstd", pkgConfig: "libzstd", providers: [.apt(["libzstd-dev"])]),
        .systemLibrary(name: "CEvstoreSystem"),
        .systemLibrary(name: "CBits"),
        .target(name: "Bytes", dependencies: ["CBits"], swiftSettings: lending),
        .target(name: "Platform", dependencies: ["Bytes", "CEvstoreSystem"], swiftSettings: lending + mutants),
        .target(
            name: "Hashing",
            dependencies: ["Bytes", "CXXHash", .product(name: "Crypto", package: "swift-crypto")],
            swiftSettings: house),
        .target(name: "LMDB", dependencies: ["Bytes", "Platform", "CLMDB"], swiftSettings: lending),
        .target(name: "PostgreSQL", dependencies: ["Bytes", "Platform"], swiftSettings: lending),
        .target(name: "JSONText", dependencies: ["Bytes"], swiftSettings: lending),
        .target(name: "EventModel", dependencies: ["Bytes", "Platform"], swiftSettings: lending),
        .target(
            name: "Sealing",
            dependencies: [
                "Bytes", "CZstd", .product(name: "Crypto", package: "swift-crypto"),
                .product(name: "CryptoExtras", package: "swift-crypto"),
            ],
            swiftSettings: lending),
        // Row 1: the log knows bytes and never schemas; evolution knows schemas and never disk.
        .target(
            name: "EventLog",
            dependencies: [
                "Bytes", "Hashing", "Sealing", "Platform", "LMDB", "EventModel", .product(name: "Logging", package: "swift-log"),
            ],
            swiftSettings: lending),
        .target(
            name: "SchemaEvolution",
            dependencies: ["Bytes", "Hashing", "Platform", "JSONText", "EventModel", .product(name: "Yams", package: "Yams")],
            swiftSettings: lending),
        // Row 2: what a developer reaches for, and no running store.
        .target(name: "SchemaTools", dependencies: ["Bytes", "JSONText", "EventModel", "SchemaEvolution"], swiftSettings: lending),
        // Row 2: the order of a log that several machines share.
        .target(
            name: "ClusterLog",
            dependencies: [
                "Bytes", "Hashing", "Platform", "PostgreSQL", "LMDB", "EventModel", "EventLog",
                .product(name: "Logging", package: "swift-log"),
            ],
            swiftSettings: lending),
        // Row 2: they meet in the projections.
        .target(
            name: "Projections",
            dependencies: [
                "Bytes", "Hashing", "Sealing", "Platform", "LMDB", "JSONText", "EventModel", "EventLog", "SchemaEvolution",
                .product(name: "Logging", package: "swift-log"),
            ],
            swiftSettings: lending),
        // Row 3: what is live is decided here and nowhere else.
        .target(
            name: "Migration",
            dependencies: [
                "Bytes", "Hashing", "Platform", "LMDB", "JSONText", "EventModel", "EventLog", "SchemaEvolution", "Projections",
                .product(name: "Logging", package: "swift-log"),
            ],
            swiftSettings: house),
        // Row 4: what an operator reaches for: backups, salvage, keys, forgetting, and looking over a store.
        .target(
            name: "LogKeeping",
            dependencies: [
                "Bytes", "Hashing", "Sealing", "Platform", "LMDB", "JSONText", "EventModel", "EventLog", "SchemaEvolution", "Projections",
                "Migration",
            ],
            swiftSettings: lending),
        // Row 5: the front door.
        .target(
            name: "Evstore",
            dependencies: [
                "Bytes", "Platform", "Hashing", "LMDB", "JSONText", "EventModel", "EventLog", "SchemaEvolution", "SchemaTools",
                "Projections",
                "Migration", "LogKeeping",
                .product(name: "Logging", package: "swift-log"),
            ],
            swiftSettings: lending),
        // Row 6: who comes through it.
        .target(
            name: "EvstoreCluster",
            dependencies: [
                "Bytes", "Hashing", "Platform", "EventModel", "EventLog", "SchemaEvolution", "Projections", "ClusterLog", "Migration",
                "Evstore",
                .product(name: "Logging", package: "swift-log"),
            ],
            swiftSettings: house),
        .target(
            name: "EvstoreTesting",
            dependencies: ["Bytes", "JSONText", "Evstore", .product(name: "Logging", package: "swift-log")],
            swiftSettings: house),
        .target(
            name: "EvstoreCLI",
            dependencies: [
                "Bytes", "Platform", "Hashing", "JSONText", "EventModel", "SchemaEvolution", "SchemaTools", "Projections", "Migration",
                "LogKeeping", "Evstore", "EvstoreCluster", "EvstoreService", "EvstoreWeb",
                .product(name: "ArgumentParser", package: "swift-argument-parser"),
                .product(name: "Logging", package: "swift-log"),
                .product(name: "ServiceLifecycle", package: "swift-service-lifecycle", condition: .when(traits: ["Service"])),
            ],
            swiftSettings: house),
        .executableTarget(name: "evstore", dependencies: ["EvstoreCLI"], swiftSettings: house),
        .target(
            name: "EvstoreService",
            dependencies: [
                "Platform", "Evstore",
                .product(name: "Logging", package: "swift-log"),
                .product(name: "ServiceLifecycle", package: "swift-service-lifecycle", condition: .when(traits: ["Service"])),
                .product(name: "Metrics", package: "swift-metrics", condition: .when(traits: ["Service"])),
                .product(name: "Tracing", package: "swift-distributed-tracing", condition: .when(traits: ["Service"])),
            ],
            swiftSettings: house),
        .target(
            name: "EvstoreWeb",
            dependencies: [
                "Bytes", "Platform", "JSONText", "EventModel", "SchemaEvolution", "SchemaTools", "Projections", "Evstore", "EvstoreCluster",
                "EvstoreService",
                .product(name: "NIOCore", package: "swift-nio", condition: .when(traits: ["Service"])),
                .product(name: "NIOHTTP1", package: "swift-nio", condition: .when(traits: ["Service"])),
                .product(name: "NIOPosix", package: "swift-nio", condition: .when(traits: ["Service"])),
                .product(name: "Metrics", package: "swift-metrics", condition: .when(traits: ["Service"])),
            ],
            resources: [.embedInCode("Files")],
            swiftSettings: house),
        // What the tests share: directories, programs, pages, numbers by a seed, and the stores that several of them tell of.
        .systemLibrary(name: "CTestSupport", path: "Tests/CTestSupport"),
        .target(
            name: "TestSupport", dependencies: ["CTestSupport", "Platform", "PostgreSQL", "Evstore", "EvstoreTesting"],
            path: "Tests/TestSupport",
            swiftSettings: house),
        // The logs and stores that the tests of several rooms begin with; never a part of a release build.
        .target(
            name: "TestStores",
            dependencies: [
                "Bytes", "Platform", "LMDB", "JSONText", "EventModel", "EventLog", "SchemaEvolution", "Projections", "Migration",
                "EvstoreTesting", "TestSupport",
            ], path: "Tests/TestStores", swiftSettings: house),
        // Tests mirror the rooms; CrashTests kill real processes, DomainTests use Schemas/, HouseTests read the sources.
        .testTarget(name: "BytesTests", dependencies: ["Bytes", "Hashing", "EventModel"], swiftSettings: house),
        .testTarget(name: "SealingTests", dependencies: ["Bytes", "Sealing"], swiftSettings: house),
        .testTarget(name: "LMDBTests", dependencies: ["Bytes", "Platform", "LMDB", "EvstoreTesting", "TestSupport"], swiftSettings: house),
        .testTarget(name: "PostgreSQLTests", dependencies: ["Platform", "PostgreSQL", "TestSupport"], swiftSettings: house),
        .testTarget(name: "JSONTextTests", dependencies: ["Bytes", "JSONText", "TestSupport"], swiftSettings: house),
        .testTarget(
            name: "EventLogTests",
            dependencies: [
                "Bytes", "Hashing", "Sealing", "Platform", "LMDB", "EventModel", "EventLog", "EvstoreTesting", "TestSupport", "TestStores",
                "Torturing",
            ],
            exclude: ["Goldens"], swiftSettings: house),
        .testTarget(
            name: "SchemaEvolutionTests",
            dependencies: [
                "Bytes", "Hashing", "JSONText", "EventModel", "SchemaEvolution", "SchemaTools", "EvstoreTesting", "TestSupport",
            ],
            exclude: ["Suite"],
            swiftSettings: house),
        .testTarget(
            name: "ProjectionsTests",
            dependencies: [
                "Bytes", "Hashing", "Sealing", "Platform", "LMDB", "JSONText", "EventModel", "EventLog", "SchemaEvolution", "Projections",
                "EvstoreTesting", "TestSupport",
            ],
            swiftSettings: house),
        .testTarget(
            name: "MigrationTests",
            dependencies: [
                "Bytes", "Platform", "LMDB", "JSONText", "EventModel", "EventLog", "SchemaEvolution", "SchemaTools", "Projections",
                "Migration",
                "EvstoreTesting", "TestSupport", "TestStores",
            ], swiftSettings: house),
        .testTarget(
            name: "LogKeepingTests",
            dependencies: [
                "Bytes", "Hashing", "Sealing", "Platform", "LMDB", "JSONText", "EventModel", "EventLog", "SchemaEvolution", "Projections",
                "Migration", "LogKeeping", "EvstoreTesting", "TestSupport", "TestStores", "Torturing",
            ], swiftSettings: house),
        .testTarget(
            name: "EvstoreTests",
            dependencies: [
                "Bytes", "Hashing", "JSONText", "Platform", "LMDB", "EventModel", "Sealing", "EventLog", "SchemaEvolution", "SchemaTools",
                "Projections",
                "Migration", "LogKeeping",
                "Evstore", "EvstoreTesting", "TestSupport", "TwentyLines", .product(name: "Logging", package: "swift-log"),
            ], exclude: ["Goldens"], swiftSettings: house),
        // The README's program, compiled as a user's is.
        .executableTarget(name: "TwentyLines", dependencies: ["Evstore"], path: "Tests/TwentyLines", swiftSettings: strict),
        .testTarget(
            name: "CLITests",
            dependencies: [
                "Bytes", "JSONText", "EventModel", "Evstore", "EvstoreTesting", "EvstoreCLI", "evstore", "GuideShop", "GuideService",
                "TestSupport", .product(name: "ArgumentParser", package: "swift-argument-parser"),
            ], swiftSettings: house),
        .testTarget(
            name: "EvstoreServiceTests",
            dependencies: [
                "Platform", "Evstore", "EvstoreService", "EvstoreTesting", "TestSupport",
                .product(name: "ServiceLifecycle", package: "swift-service-lifecycle", condition: .when(traits: ["Service"])),
                .product(name: "MetricsTestKit", package: "swift-metrics", condition: .when(traits: ["Service"])),
                .product(name: "InMemoryTracing", package: "swift-distributed-tracing", condition: .when(traits: ["Service"])),
            ], swiftSettings: house),
        .testTarget(
            name: "EvstoreClusterTests",
            dependencies: [
                "Bytes", "Hashing", "Platform", "LMDB", "PostgreSQL", "EventModel", "EventLog", "SchemaEvolution", "ClusterLog", "Evstore",
                "EvstoreCluster", "EvstoreWeb",
                "EvstoreTesting", "TestSupport", "TestStores", "Torturing", "evstore", "StoreWorker",
            ], swiftSettings: house),
        .testTarget(
            name: "EvstoreWebTests",
            dependencies: ["Platform", "Evstore", "EvstoreService", "EvstoreWeb", "EvstoreTesting", "TestSupport"],
            swiftSettings: house),
        // The programs of the guides, compiled as a user's are.
        .executableTarget(name: "GuideShop", dependencies: ["Evstore"], path: "Tests/GuideShop", swiftSettings: strict),
        .executableTarget(
            name: "GuideService", dependencies: ["Evstore", .product(name: "Logging", package: "swift-log")], path: "Tests/GuideService",
            swiftSettings: strict),
        .executableTarget(
            name: "OrdersService", dependencies: ["EventModel", "Projections", "EvstoreCLI"], path: "Tests/OrdersService",
            swiftSettings: house),
        .executableTarget(
            name: "StoreWorker", dependencies: ["Bytes", "Platform", "LMDB", "EventLog", "Evstore", "EvstoreCluster"],
            path: "Tests/StoreWorker",
            swiftSettings: house),
        .testTarget(
            name: "CrashTests",
            dependencies: [
                "Platform", "LMDB", "EventLog", "Migration", "Evstore", "EvstoreTesting", "EvstoreCLI", "evstore", "OrdersService",
                "StoreWorker", "TestSupport",
                "Torturing", "evstore-torture",
            ], swiftSettings: house),
        .testTarget(
            name: "DomainTests",
            dependencies: [
                "EventModel", "SchemaEvolution", "SchemaTools", "Evstore", "EvstoreTesting", "RemindersService", "TestSupport", "Torturing",
                .product(name: "Crypto", package: "swift-crypto"),
            ],
            exclude: ["Fixtures"], swiftSettings: house),
        .executableTarget(name: "RemindersService", dependencies: ["Evstore"], path: "Tests/RemindersService", swiftSettings: house),
        .testTarget(name: "HouseTests", dependencies: ["TestSupport", .product(name: "Yams", package: "Yams")], swiftSettings: house),
        // Broken files and events: what makes and judges them, and the program that does so by the million.
        .target(
            name: "Fuzzing",
            dependencies: [
                "Bytes", "Hashing", "LMDB", "JSONText", "EventModel", "EventLog", "SchemaEvolution", "SchemaTools", "Projections",
                "Evstore",
                "EvstoreService", "EvstoreWeb", "EvstoreTesting",
            ],
            path: "tools/fuzz/Fuzzing", swiftSettings: house),
        .executableTarget(
            name: "evstore-fuzz",
            dependencies: [
                "Fuzzing", "EvstoreTesting", "TestSupport", .product(name: "ArgumentParser", package: "swift-argument-parser"),
            ],
            path: "tools/fuzz/Program", swiftSettings: house),
        // Faults of the disk and of processes: what makes them, and the program that tries them by the thousand.
        .target(
            name: "Torturing",
            dependencies: [
                "Bytes", "Platform", "Hashing", "Sealing", "LMDB", "EventModel", "EventLog", "Evstore", "EvstoreTesting", "TestSupport",
            ],
            path: "tools/torturing/Torturing", swiftSettings: house + reaching),
        .executableTarget(
            name: "evstore-torture",
            dependencies: [
                "Bytes", "TestSupport", "Torturing", "Platform", "LMDB", "EventModel", "EventLog", "Migration", "LogKeeping", "Evstore",
                "EvstoreService", "EvstoreTesting",
                .product(name: "ArgumentParser", package: "swift-argument-parser"),
                .product(name: "Logging", package: "swift-log"),
                .product(name: "ServiceLifecycle", package: "swift-service-lifecycle", condition: .when(traits: ["Service"])),
                .product(name: "UnixSignals", package: "swift-service-lifecycle", condition: .when(traits: ["Service"])),
            ],
            path: "tools/torturing/Program", swiftSettings: house + reaching),
        .testTarget(name: "FuzzTests", dependencies: ["EvstoreTesting", "TestSupport", "evstore-fuzz"], swiftSettings: house),
    ],
    swiftLanguageModes: [.v6]
)

// libFuzzer on the doors for bytes from outside; `tools/fuzz/libfuzzer` builds with what it needs, and nothing else can.
if Context.environment["EVSTORE_FUZZERS"] != nil {
    package.targets += [
        .systemLibrary(name: "CLibFuzzer", path: "tools/fuzz/CLibFuzzer"),
        .executableTarget(
            name: "evstore-libfuzzer",
            dependencies: [
                "Bytes", "CLibFuzzer", "Hashing", "Sealing", "Platform", "LMDB", "JSONText", "EventModel", "EventLog", "SchemaEvolution",
                "LogKeeping",
                "SchemaTools",
                .product(name: "Crypto", package: "swift-crypto"),
            ],
            path: "tools/fuzz/Targets", swiftSettings: lending),
    ]
}

// The tests to build, where not all are wanted: the gate builds some of them optimized, too.
if let wanted = Context.environment["EVSTORE_TESTS"]?.split(separator: " ") {
    package.targets.removeAll { $0.isTest && !wanted.contains($0.name[...]) }
}
