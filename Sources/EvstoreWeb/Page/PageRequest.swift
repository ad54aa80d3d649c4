internal import EventModel
internal import Foundation

/// A request of a browser for the page.
package struct PageRequest: Sendable {
    package var path: [String]
    package var query: [String: String]
    /// The fields of a submitted form; nil for a request that only reads.
    package var form: [String: String]?

    /// - Parameters:
    ///   - path: the path as it was requested, percent-encoded.
    ///   - query: the part after the question mark, in the format of HTML forms (application/x-www-form-urlencoded).
    package init(path: String, query: String = "", form: String? = nil) {
        self.path = path.split(separator: "/").map(Self.decoded)
        self.query = Self.fields(query)
        self.form = form.map(Self.fields)
    }

    /// Sets the fields of a submitted form.
    package mutating func take(form text: String) { form = Self.fields(text) }

    private static func fields(_ text: String) -> [String: String] {
        var fields: [String: String] = [:]
        for pair in text.split(separator: "&") {
            let halves = pair.split(separator: "=", maxSplits: 1, omittingEmptySubsequences: false).map { half in
                let spaced = String(half.replacing("+", with: " "))
                return spaced.removingPercentEncoding ?? spaced
            }
            // An empty field counts as missing.
            if halves.count == 2, !halves[1].isEmpty { fields[halves[0]] = halves[1] }
        }
        return fields
    }

    /// A path of the page whose components may hold any text.
    static func link(_ parts: String..., query: KeyValuePairs<String, String?> = [:]) -> String { link(parts, query.map { ($0, $1) }) }

    static func link(_ parts: [String], _ query: [(String, String?)]) -> String {
        let path = "/" + parts.map(part).joined(separator: "/")
        let fields = query.compactMap { name, value in value.map { "\(name)=\(encoded($0))" } }
        return fields.isEmpty ? path : path + "?" + fields.joined(separator: "&")
    }

    /// Encodes a component. Browsers take one or two dots as a way up even if encoded (URL Standard, 4.1), so such a component gets a
    /// slash.
    private static func part(_ text: String) -> String { encoded(isDots(text) ? text + "/" : text) }

    private static func decoded(_ part: Substring) -> String {
        let text = part.removingPercentEncoding ?? String(part)
        return text.hasSuffix("/") && isDots(String(text.dropLast())) ? String(text.dropLast()) : text
    }

    /// Whether a text is one or two dots with any number of slashes behind them.
    private static func isDots(_ text: String) -> Bool {
        let dots = text.prefix { $0 == "." }
        return (1 ... 2).contains(dots.count) && text.dropFirst(dots.count).allSatisfy { $0 == "/" }
    }

    private static func encoded(_ text: String) -> String {
        text.addingPercentEncoding(withAllowedCharacters: unreserved) ?? ""
    }

    /// The unreserved characters of RFC 3986, 2.3.
    private static let unreserved = CharacterSet(charactersIn: "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-._~")

    // MARK: Fields

    func position(_ name: String) throws(EvstoreError) -> Position? {
        guard let text = query[name] else { return nil }
        guard let number = UInt64(text.filter { $0 != "," }) else { throw .usage("\(quoted(text)) is no position") }
        return Position(number)
    }

    func revision(_ name: String) throws(EvstoreError) -> Revision? {
        guard let text = query[name] else { return nil }
        guard let number = UInt64(text) else { throw .usage("\(quoted(text)) is no revision") }
        return Revision(number)
    }
}

/// The page's answer to a request.
package struct PageAnswer: Sendable {
    package var status = 200
    package var type = "text/html; charset=utf-8"
    package var body: [UInt8] = []
    /// The address that the browser is redirected to.
    package var location: String?

    static func moved(to location: String) -> PageAnswer { PageAnswer(status: 303, location: location) }
}
