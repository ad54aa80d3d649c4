internal import Bytes

// Operations on eight or sixteen bytes of a text at a time, in one register.

let everyByte: UInt64 = 0x0101_0101_0101_0101
let everyHighBit: UInt64 = 0x8080_8080_8080_8080

/// The high bit of each byte that ends a run of plain text in a string: a quote, a backslash or a control character. Only the lowest bit
/// that is set is exact; those above it may be false positives.
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

/// The number of leading bytes that are plain text in a string: up to a quote, a backslash or a control character.
@inline(__always)
func plainCount(_ bytes: SIMD16<UInt8>) -> Int {
    let quotes = bytes .== SIMD16<UInt8>(repeating: 0x22)
    let backslashes = bytes .== SIMD16<UInt8>(repeating: 0x5C)
    return (quotes .| backslashes .| (bytes .< SIMD16<UInt8>(repeating: 0x20))).firstTrue
}

/// The number of leading bytes that are plain ASCII text in a string: up to a quote, a backslash, a control character or a byte that is not
/// ASCII.
@inline(__always)
func asciiCount(_ bytes: SIMD16<UInt8>) -> Int {
    let quotes = bytes .== SIMD16<UInt8>(repeating: 0x22)
    let backslashes = bytes .== SIMD16<UInt8>(repeating: 0x5C)
    // Subtracting 0x20 maps control characters (below 0x20) and non-ASCII bytes (from 0x80 on) to 0x60 and above.
    let others = bytes &- SIMD16<UInt8>(repeating: 0x20) .>= SIMD16<UInt8>(repeating: 0x60)
    return (quotes .| backslashes .| others).firstTrue
}

/// The number of leading bytes that are decimal digits.
@inline(__always)
func digitCount(_ bytes: SIMD16<UInt8>) -> Int {
    (bytes &- SIMD16<UInt8>(repeating: 0x30) .> SIMD16<UInt8>(repeating: 9)).firstTrue
}

/// The number of leading bytes that are neither a quote nor a bracket nor a brace.
@inline(__always)
func unbracketedCount(_ bytes: SIMD16<UInt8>) -> Int {
    let quotes = bytes .== SIMD16<UInt8>(repeating: 0x22)
    // Setting the bit in which brackets and braces differ lets one comparison find both.
    let folded = bytes | SIMD16<UInt8>(repeating: 0x20)
    return (quotes .| (folded .== SIMD16<UInt8>(repeating: 0x7B)) .| (folded .== SIMD16<UInt8>(repeating: 0x7D))).firstTrue
}

/// The number of leading bytes that are neither a quote nor a space nor another control character.
@inline(__always)
func unspacedCount(_ bytes: SIMD16<UInt8>) -> Int {
    ((bytes .== SIMD16<UInt8>(repeating: 0x22)) .| (bytes .<= SIMD16<UInt8>(repeating: 0x20))).firstTrue
}

/// A hash of a name's first word, which names of other bytes seldom share. The first word of a name with less than eight bytes includes its
/// closing quote.
@inline(__always)
func nameKey(_ word: UInt64) -> UInt32 { UInt32(truncatingIfNeeded: (word &* 0x9E37_79B9_7F4A_7C15) &>> 32) }
