// Eight bytes of a text at a time, in one register.

@usableFromInline let everyByte: UInt64 = 0x0101_0101_0101_0101
@usableFromInline let everyHighBit: UInt64 = 0x8080_8080_8080_8080

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

/// The high bit of each byte that is no decimal digit. The lowest bit set is exact; those above it may be false.
@inline(__always)
func otherThanDigits(_ word: UInt64) -> UInt64 {
    let digits = word ^ (everyByte &* 0x30)
    return (digits | (digits &+ everyByte &* 0x76)) & everyHighBit
}
