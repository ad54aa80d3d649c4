import Testing

@testable import EvstoreWeb

@Suite("What a browser asks for")
struct PageRequestTests {
    @Test("a path's parts may hold slashes and percent signs; a form's fields spaces and plus signs")
    func decoding() {
        let request = PageRequest(path: "/streams/a%2Fb%25", query: "type=Order+Placed&stream=a%2Bb&born=&at=v2")
        #expect(request.path == ["streams", "a/b%"])
        #expect(request.query == ["type": "Order Placed", "stream": "a+b", "at": "v2"])
        #expect(PageRequest(path: "/").path.isEmpty)
    }

    @Test("a link leads back to what it was made of", arguments: ["a/b", "%2F", "ä ö", "<b>\"'&", "..", "a+b?c#d"])
    func links(_ text: String) throws {
        let link = PageRequest.link("streams", text, query: ["from": text, "at": nil])
        let halves = link.split(separator: "?").map(String.init)
        let request = PageRequest(path: halves[0], query: halves[1])
        #expect(request.path == ["streams", text])
        #expect(request.query == ["from": text])
    }

    @Test(
        "it listens on this machine alone",
        arguments: [
            ("9464", ListenAddress.loopback(port: 9464)), ("127.0.0.1:0", .loopback(port: 0)), ("localhost:80", .loopback(port: 80)),
            ("unix:/run/a.sock", .socket(path: "/run/a.sock")),
        ])
    func addresses(_ text: String, _ expected: ListenAddress) { #expect(ListenAddress(text) == expected) }

    @Test(
        "anywhere else is refused",
        arguments: ["0.0.0.0:80", ":80", "example.org:80", "127.0.0.1", "127.0.0.1:70000", "unix:a.sock", "", "[::]:80"])
    func others(_ text: String) { #expect(ListenAddress(text) == nil) }

    @Test("secrets are new each time, and compared whole")
    func secrets() {
        let secret = PageSecret.make()
        #expect(secret.count == 64 && secret != PageSecret.make())
        #expect(PageSecret.equal(secret, secret))
        #expect(!PageSecret.equal(secret, String(secret.dropLast())) && !PageSecret.equal("", secret))
    }
}
