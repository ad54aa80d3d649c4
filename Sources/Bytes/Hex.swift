/// Lower-case hexadecimal text of bytes.
package func hex(_ bytes: [UInt8]) -> String {
    func digit(_ half: UInt8) -> UInt8 { half < 10 ? half + 48 : half + 87 }
    var text: [UInt8] = []
    text.reserveCapacity(bytes.count * 2)
    for byte in bytes {
        text.append(digit(byte >> 4))
        text.append(digit(byte & 15))
    }
    return String(decoding: text, as: UTF8.self)
}

/// Decodes hexadecimal text; nil where the length is odd or a character is no digit.
package func bytes(hex text: String) -> [UInt8]? {
    func digit(_ character: UInt8) -> UInt8? {
        switch character {
        case 48 ... 57: character - 48
        case 97 ... 102: character - 87
        case 65 ... 70: character - 55
        default: nil
        }
    }
    let characters = Array(text.utf8)
    guard characters.count % 2 == 0 else { return nil }
    var result: [UInt8] = []
    for index in stride(from: 0, to: characters.count, by: 2) {
        guard let high = digit(characters[index]), let low = digit(characters[index + 1]) else { return nil }
        result.append(high << 4 | low)
    }
    return result
}
