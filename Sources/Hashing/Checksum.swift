internal import CXXHash

/// XXH3-64 (xxHash 0.8) of bytes: finds damage, proves nothing against an attacker.
package func checksum(_ bytes: RawSpan) -> UInt64 {
    unsafe bytes.withUnsafeBytes { unsafe xxh3_64($0.baseAddress, $0.count) }
}

/// XXH3-64 with a seed, for hash tables in memory: without the seed, nobody can choose keys that collide.
package func seededHash(_ bytes: RawSpan, _ seed: UInt64) -> UInt64 {
    unsafe bytes.withUnsafeBytes { unsafe xxh3_64_seeded($0.baseAddress, $0.count, seed) }
}
