internal import Bytes
internal import EventModel

/// The first bytes of an input that should be text in UTF-8.
enum TextBeginning {
    /// So many bytes tell how an input begins.
    static let bytesMax = 3

    private static let byteOrderMark: [UInt8] = [0xef, 0xbb, 0xbf]
    private static let foreign: [(beginning: [UInt8], form: String, program: String)] = [
        ([0x1f, 0x8b], "gzip", "zcat"), ([0x28, 0xb5, 0x2f], "zstd", "zstdcat"),
        ([0xff, 0xfe], "UTF-16", "iconv -f UTF-16 -t UTF-8"), ([0xfe, 0xff], "UTF-16", "iconv -f UTF-16 -t UTF-8"),
    ]

    /// How many bytes a reader passes over: those of the byte order mark with which some programs begin a text in UTF-8; RFC 8259 lets a
    /// reader ignore it.
    /// - Throws: `EvstoreError.usage` where the input is compressed, or text in another encoding.
    static func passedOver(_ text: RawSpan, of name: String) throws(EvstoreError) -> Int {
        for (beginning, form, program) in foreign where text.begins(with: beginning) {
            throw .usage("\(name) is \(form), and not text in UTF-8", fix: "unpack or convert it first, as in \(.piped(through: program))")
        }
        return text.begins(with: byteOrderMark) ? byteOrderMark.count : 0
    }
}

extension RawSpan {
    fileprivate func begins(with bytes: [UInt8]) -> Bool { byteCount >= bytes.count && slice(0, bytes.count).equals(bytes.lent) }
}
