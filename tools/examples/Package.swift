// swift-tools-version: 6.2
import PackageDescription

// As a program of yours would have it: by address and version, or by path while both are worked on.
let evstore: Package.Dependency =
    if let address = Context.environment["EVSTORE_ADDRESS"] {
        .package(url: address, branch: Context.environment["EVSTORE_BRANCH"] ?? "main")
    } else {
        .package(name: "evstore", path: "../..")
    }
// A package that is had by its address is known by the last part of that.
let identity = Context.environment["EVSTORE_ADDRESS"]?.split(separator: "/").last?.split(separator: ".").first.map(String.init) ?? "evstore"

let package = Package(
    name: "examples",
    dependencies: [
        evstore,
        .package(url: "https://github.com/hummingbird-project/hummingbird", from: "2.28.0"),
        .package(url: "https://github.com/apple/swift-http-types", from: "1.8.0"),
    ],
    targets: [
        .executableTarget(
            name: "Orders",
            dependencies: [
                .product(name: "Evstore", package: identity), .product(name: "EvstoreService", package: identity),
                .product(name: "Hummingbird", package: "hummingbird"), .product(name: "HTTPTypes", package: "swift-http-types"),
            ])
    ],
    swiftLanguageModes: [.v6]
)
