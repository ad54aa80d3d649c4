internal import Bytes

// Eight or sixteen bytes of a text at a time, in one register.

let everyByte: UInt64 = 0x0101_0101_0101_0101
let everyHighBit: UInt64 = 0x8080_8080_8080_8080

/// The high bit of each byte that ends a run of plain text in a string: a quote, a backslash or a
/// control character. The lowest bit set is exact; those above it may be false.
@inline(__always)
func specialBytes(_ word: UInt64) -> UInt64 {
    let quotes = word ^ (everyByte &* 0x22)
    let backslashes = word ^ (everyByte &* 0x5C)
    let found = (quotes &- everyByte) & ~quotes | (backslashes &- everyByte) & ~backslashes | (word &- everyByte &* 0x20) & ~word
    return found & everyHighBit
}

/// The high bit of each byte that is not ASCII.
@inline(__always)
func wideBytes(_ word: UInt64) -> UInt64 { word & everyHighBit }

/// How many of sixteen bytes are plain text in a string, from the first on: up to a quote, a backslash or a control
/// character.
@inline(__always)
func plainCount(_ bytes: SIMD16<UInt8>) -> Int {
    let quotes = bytes .== SIMD16<UInt8>(repeating: 0x22)
    let backslashes = bytes .== SIMD16<UInt8>(repeating: 0x5C)
    return (quotes .| backslashes .| (bytes .< SIMD16<UInt8>(repeating: 0x20))).firstTrue
}

/// The same, up to a byte that is not ASCII as well.
@inline(__always)
func asciiCount(_ bytes: SIMD16<UInt8>) -> Int {
    let quotes = bytes .== SIMD16<UInt8>(repeating: 0x22)
    let backslashes = bytes .== SIMD16<UInt8>(repeating: 0x5C)
    // Control characters are below 0x20 and what is not ASCII from 0x80 on: 0x60 less than none, or more than the others.
    let others = bytes &- SIMD16<UInt8>(repeating: 0x20) .>= SIMD16<UInt8>(repeating: 0x60)
    return (quotes .| backslashes .| others).firstTrue
}

/// How many of sixteen bytes are decimal digits, from the first on.
@inline(__always)
func digitCount(_ bytes: SIMD16<UInt8>) -> Int {
    (bytes &- SIMD16<UInt8>(repeating: 0x30) .> SIMD16<UInt8>(repeating: 9)).firstTrue
}

/// How many of sixteen bytes are neither a quote nor a bracket nor a brace, from the first on.
@inline(__always)
func unbracketedCount(_ bytes: SIMD16<UInt8>) -> Int {
    let quotes = bytes .== SIMD16<UInt8>(repeating: 0x22)
    // Brackets and braces differ in one bit, which is set here.
    let folded = bytes | SIMD16<UInt8>(repeating: 0x20)
    return (quotes .| (folded .== SIMD16<UInt8>(repeating: 0x7B)) .| (folded .== SIMD16<UInt8>(repeating: 0x7D))).firstTrue
}

/// How many of sixteen bytes are neither a quote nor a space nor another control character, from the first on.
@inline(__always)
func unspacedCount(_ bytes: SIMD16<UInt8>) -> Int {
    ((bytes .== SIMD16<UInt8>(repeating: 0x22)) .| (bytes .<= SIMD16<UInt8>(repeating: 0x20))).firstTrue
}

/// A number that names of other bytes seldom share, of their first word: of a name of less than eight bytes with its
/// quote, of another the first eight bytes.
@inline(__always)
func nameKey(_ word: UInt64) -> UInt32 { UInt32(truncatingIfNeeded: (word &* 0x9E37_79B9_7F4A_7C15) &>> 32) }
