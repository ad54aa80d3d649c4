import Platform

#if Service
    import Testing

    @testable import EvstoreWeb

    @Suite("Sessions of the page")
    struct PageSessionsTests {
        private let sessions = PageSessions(token: "t0ken-0123456789", store: "/srv/Bestell ungen.é/")

        @Test("have a host of their own, which is a name that no other server here can know")
        func host() {
            #expect(sessions.host.wholeMatch(of: #/evstore-bestell-ungen---[0-9a-f]{16}\.localhost/#) != nil, "\(sessions.host)")
            #expect(sessions.host != PageSessions(token: "t0ken-0123456789", store: "/srv/Bestell ungen.é/").host)
            let long = PageSessions(token: "t", store: "/" + String(repeating: "a", count: 300)).host
            #expect(long.split(separator: ".").allSatisfy { $0.utf8.count <= 63 })
        }

        @Test("are values of their own, and end after twelve hours")
        func ending() {
            let now = Instant.now
            let (one, other) = (sessions.begin(now: now), sessions.begin(now: now + .seconds(60)))
            #expect(one != other && !one.contains("t0ken") && sessions.isToken("t0ken-0123456789") && !sessions.isToken(one))
            #expect(sessions.isSession(one, now: now + .seconds(12 * 3_600 - 1)))
            #expect(!sessions.isSession(one, now: now + .seconds(12 * 3_600)))
            #expect(sessions.isSession(other, now: now + .seconds(12 * 3_600)))
            #expect(!sessions.isSession("", now: now))
        }

        @Test("end from the oldest on where more than sixty-four begin")
        func many() {
            let now = Instant.now
            let all = (0 ..< 70).map { sessions.begin(now: now + .seconds($0)) }
            #expect(all.map { sessions.isSession($0, now: now) } == (0 ..< 70).map { $0 >= 6 })
        }
    }
#endif
