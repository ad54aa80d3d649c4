import EventModel
import TestSupport
import Testing

@testable import SchemaEvolution

@Suite("The members of an object")
struct ShapeMembersTests {
    @Test("are found, added, changed and removed as in a list that is searched from the front")
    func asInAList() {
        var random = SeededGenerator.announced()
        for _ in 0 ..< 50 {
            var naive: [Shape.Property] = []
            var members = ShapeMembers()
            let names = (0 ..< Int.random(in: 1 ... 60, using: &random)).map { "m\($0)" } + ["\u{e9}", "e\u{301}"]
            for _ in 0 ..< 200 {
                let name = names.randomElement(using: &random) ?? ""
                let place = naive.firstIndex { $0.name.isSame(as: name) }
                #expect(members.place(of: name) == place)
                switch (place, Int.random(in: 0 ..< 3, using: &random)) {
                case (nil, _):
                    naive.append(.init(name, Shape(.string)))
                    members.append(.init(name, Shape(.string)))
                case (let place?, 0):
                    #expect(members.remove(name) == naive.remove(at: place))
                case (let place?, _):
                    naive[place].shape.isNullable.toggle()
                    members.edit(place) { $0.isNullable.toggle() }
                }
                #expect(members.list == naive)
            }
            #expect(members == ShapeMembers(naive) && members.hashValue == ShapeMembers(naive).hashValue)
            for name in names { #expect(ShapeMembers(naive).place(of: name) == naive.firstIndex { $0.name.isSame(as: name) }) }
        }
    }
}
