// swift-tools-version: 6.2
import PackageDescription

/// The rooms of the product, by links to their sources, and what measures them: a package of its own, so that the product's
/// stays free of it. Its sources are the product's because what is measured here lies behind `package` doors too.
let house: [SwiftSetting] = [
    .strictMemorySafety(),
    .enableUpcomingFeature("ExistentialAny"),
    .enableUpcomingFeature("InternalImportsByDefault"),
    .enableUpcomingFeature("MemberImportVisibility"),
    .enableExperimentalFeature("Lifetimes"),
]

let logging = Target.Dependency.product(name: "Logging", package: "swift-log")

/// `tools/bench/micro` asks for what ordo-one's benchmark measures with; nothing else needs to fetch it.
let isMicro = Context.environment["EVSTORE_MICRO"] != nil

let package = Package(
    name: "ours",
    products: [.library(name: "Measured", targets: ["Measured"]), .executable(name: "ours", targets: ["ours"])],
    dependencies: [
        .package(url: "https://github.com/apple/swift-crypto", from: "4.5.0"),
        .package(url: "https://github.com/jpsim/Yams", from: "6.2.0"),
        .package(url: "https://github.com/apple/swift-log", from: "1.16.0"),
    ],
    targets: [
        .systemLibrary(name: "CLMDB", pkgConfig: "lmdb", providers: [.apt(["liblmdb-dev"])]),
        .systemLibrary(name: "CXXHash", pkgConfig: "libxxhash", providers: [.apt(["libxxhash-dev"])]),
        .systemLibrary(name: "CZstd", pkgConfig: "libzstd", providers: [.apt(["libzstd-dev"])]),
        .systemLibrary(name: "CEvstoreSystem"),
        .systemLibrary(name: "CBits"),
        .target(name: "Bytes", dependencies: ["CBits"], swiftSettings: house),
        .target(name: "Platform", dependencies: ["Bytes", "CEvstoreSystem"], swiftSettings: house),
        .target(
            name: "Hashing", dependencies: ["Bytes", "CXXHash", .product(name: "Crypto", package: "swift-crypto")], swiftSettings: house),
        .target(
            name: "Sealing",
            dependencies: [
                "Bytes", "CZstd", .product(name: "Crypto", package: "swift-crypto"),
                .product(name: "CryptoExtras", package: "swift-crypto"),
            ], swiftSettings: house),
        .target(name: "LMDB", dependencies: ["Bytes", "Platform", "CLMDB"], swiftSettings: house),
        .target(name: "JSONText", dependencies: ["Bytes"], swiftSettings: house),
        .target(name: "EventModel", dependencies: ["Bytes", "Platform"], swiftSettings: house),
        .target(name: "EventLog", dependencies: ["Bytes", "Platform", "Hashing", "Sealing", "LMDB", "EventModel", logging], swiftSettings: house),
        .target(
            name: "SchemaEvolution",
            dependencies: ["Bytes", "Platform", "Hashing", "JSONText", "EventModel", .product(name: "Yams", package: "Yams")],
            swiftSettings: house),
        .target(name: "SchemaTools", dependencies: ["Bytes", "JSONText", "EventModel", "SchemaEvolution"], swiftSettings: house),
        .target(
            name: "Projections",
            dependencies: [
                "Bytes", "Platform", "Hashing", "Sealing", "LMDB", "JSONText", "EventModel", "EventLog", "SchemaEvolution", logging,
            ],
            swiftSettings: house),
        .target(
            name: "Migration",
            dependencies: [
                "Bytes", "Platform", "Hashing", "LMDB", "JSONText", "EventModel", "EventLog", "SchemaEvolution", "Projections", logging,
            ],
            swiftSettings: house),
        .target(
            name: "LogKeeping",
            dependencies: [
                "Bytes", "Platform", "Hashing", "Sealing", "LMDB", "JSONText", "EventModel", "EventLog", "SchemaEvolution", "Projections",
                "Migration",
            ],
            swiftSettings: house),
        .target(
            name: "Evstore",
            dependencies: [
                "Bytes", "Platform", "Hashing", "LMDB", "JSONText", "EventModel", "EventLog", "SchemaEvolution", "SchemaTools",
                "Projections", "Migration", "LogKeeping", logging,
            ], swiftSettings: house),
        .target(name: "PostgreSQL", dependencies: ["Bytes", "Platform"], swiftSettings: house),
        .target(
            name: "ClusterLog", dependencies: ["Bytes", "Platform", "Hashing", "LMDB", "PostgreSQL", "EventModel", "EventLog"],
            swiftSettings: house),
        .target(
            name: "EvstoreCluster",
            dependencies: [
                "Bytes", "Platform", "Hashing", "EventModel", "EventLog", "SchemaEvolution", "Projections", "ClusterLog", "Migration",
                "Evstore", logging,
            ], swiftSettings: house),
        .target(
            name: "Measured", dependencies: ["Bytes", "JSONText", "EventModel", "EventLog", "SchemaEvolution", "Evstore"],
            swiftSettings: house),
        .executableTarget(name: "ours", dependencies: ["Measured", "Evstore", "EvstoreCluster"], swiftSettings: house),
    ],
    swiftLanguageModes: [.v6]
)

if isMicro {
    package.dependencies.append(.package(url: "https://github.com/ordo-one/benchmark", exact: "1.38.1", traits: []))
    package.targets.append(
        .executableTarget(
            name: "Micro", dependencies: ["Measured", "Evstore", .product(name: "Benchmark", package: "benchmark")],
            path: "Benchmarks/Micro",
            swiftSettings: house, plugins: [.plugin(name: "BenchmarkPlugin", package: "benchmark")]))
}
