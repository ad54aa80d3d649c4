// swift-tools-version: 6.2
import PackageDescription

/// SQLite as a Swift program uses it: a package of its own, so that the product's stays free of it.
let package = Package(
    name: "grdb",
    products: [.executable(name: "grdb", targets: ["grdb"])],
    dependencies: [.package(url: "https://github.com/groue/GRDB.swift", exact: "7.10.0")],
    targets: [.executableTarget(name: "grdb", dependencies: [.product(name: "GRDB", package: "GRDB.swift")])],
    swiftLanguageModes: [.v6]
)
