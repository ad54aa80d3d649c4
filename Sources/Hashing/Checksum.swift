internal import CXXHash

/// XXH3-64 (xxHash 0.8) of bytes: finds damage, proves nothing against an attacker.
package func checksum(_ bytes: RawSpan) -> UInt64 {
    unsafe bytes.withUnsafeBytes { unsafe XXH3_64bits($0.baseAddress, $0.count) }
}
