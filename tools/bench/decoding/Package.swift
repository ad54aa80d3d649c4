// swift-tools-version: 6.2
import PackageDescription

/// The rooms that reading JSON takes, by links to their sources, and what measures them: a package of its own, so that
/// the product's stays free of it.
let house: [SwiftSetting] = [
    .strictMemorySafety(),
    .enableUpcomingFeature("ExistentialAny"),
    .enableUpcomingFeature("InternalImportsByDefault"),
    .enableUpcomingFeature("MemberImportVisibility"),
    .enableExperimentalFeature("Lifetimes"),
]

let package = Package(
    name: "decoding",
    targets: [
        .systemLibrary(name: "CBits"),
        .target(name: "Bytes", dependencies: ["CBits"], swiftSettings: house),
        .target(name: "JSONText", dependencies: ["Bytes"], swiftSettings: house),
        .executableTarget(name: "decoding", dependencies: ["Bytes", "JSONText"], swiftSettings: house),
    ],
    swiftLanguageModes: [.v6]
)
