// swift-tools-version: 6.2
import PackageDescription

/// The rooms that a step takes, by links to their sources, and what measures them: a package of its own, so that the
/// product's stays free of it.
let house: [SwiftSetting] = [
    .strictMemorySafety(),
    .enableUpcomingFeature("ExistentialAny"),
    .enableUpcomingFeature("InternalImportsByDefault"),
    .enableUpcomingFeature("MemberImportVisibility"),
    .enableExperimentalFeature("Lifetimes"),
]

let package = Package(
    name: "steps",
    dependencies: [
        .package(url: "https://github.com/apple/swift-crypto", from: "4.5.0"),
        .package(url: "https://github.com/jpsim/Yams", from: "6.2.0"),
    ],
    targets: [
        .systemLibrary(name: "CXXHash", pkgConfig: "libxxhash", providers: [.apt(["libxxhash-dev"])]),
        .target(name: "Bytes", dependencies: ["CBits"], swiftSettings: house),
        .systemLibrary(name: "CEvstoreSystem"),
        .systemLibrary(name: "CBits"),
        .target(name: "Platform", dependencies: ["Bytes", "CEvstoreSystem"], swiftSettings: house),
        .target(
            name: "Hashing", dependencies: ["Bytes", "CXXHash", .product(name: "Crypto", package: "swift-crypto")], swiftSettings: house),
        .target(name: "JSONText", dependencies: ["Bytes"], swiftSettings: house),
        .target(name: "EventModel", dependencies: ["Bytes", "Platform"], swiftSettings: house),
        .target(
            name: "SchemaEvolution",
            dependencies: ["Bytes", "Platform", "Hashing", "JSONText", "EventModel", .product(name: "Yams", package: "Yams")],
            swiftSettings: house),
        .executableTarget(name: "steps", dependencies: ["Bytes", "JSONText", "EventModel", "SchemaEvolution"], swiftSettings: house),
    ],
    swiftLanguageModes: [.v6]
)
