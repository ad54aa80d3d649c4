#if TESTABLE
    internal import EventLog
    internal import EventModel

    extension Forgery {
        /// One change of a log.
        package enum Edit: String, CaseIterable {
            case payload, metadata, id, type, born, time, commitTime, stream, append, shadow
            case deletion, insertion, order, truncation, newEnd

            /// False where the log has nothing there to change so.
            package func apply(to forgery: inout Forgery, _ random: inout some RandomNumberGenerator) -> Bool {
                let block = Int.random(in: forgery.blocks.indices, using: &random)
                let entry = Int.random(in: forgery.blocks[block].entries.indices, using: &random)
                let other = Int.random(in: 0 ... 9, using: &random)
                let before = forgery.blocks.map(\.entries)
                let time = forgery.blocks[block].time
                switch self {
                case .payload: Self.change(&forgery.blocks[block].entries[entry].event.payload, digit: UInt8(48 + other))
                case .metadata: forgery.blocks[block].entries[entry].event.metadata = Array(#"{"by":\#(other)}"#.utf8)
                case .id: forgery.blocks[block].entries[entry].event.id = EventID(unchecked: "forged-\(other)")
                case .type:
                    let type = forgery.blocks[block].entries[entry].event.type
                    forgery.blocks[block].entries[entry].event.type = type == "OrderPaid" ? "OrderPlaced" : "OrderPaid"
                case .born: forgery.blocks[block].entries[entry].event.born = SchemaVersion(2)
                case .time:
                    let time = forgery.blocks[block].entries[entry].event.time
                    forgery.blocks[block].entries[entry].event.time = Timestamp(microseconds: time.microseconds - 1)
                case .commitTime: forgery.blocks[block].time = Timestamp(microseconds: time.microseconds + 1)
                case .stream: forgery.blocks[block].entries[entry].event.stream = StreamName(unchecked: "order-\(other)")
                case .append: forgery.blocks[block].entries[entry].isSameAppend.toggle()
                case .shadow: forgery.blocks[block].entries[entry].event.shadow = [1, 2, 3]
                case .deletion: forgery.blocks[block].entries.remove(at: entry)
                case .insertion:
                    var copy = forgery.blocks[block].entries[entry]
                    copy.madeID = EventID(uuid: (7, UInt64(other)))
                    forgery.blocks[block].entries.insert(copy, at: entry)
                case .order:
                    let next = (block + 1) % forgery.blocks.count
                    let place = Int.random(in: forgery.blocks[next].entries.indices, using: &random)
                    let moved = forgery.blocks[block].entries[entry]
                    forgery.blocks[block].entries[entry] = forgery.blocks[next].entries[place]
                    forgery.blocks[next].entries[place] = moved
                case .truncation: forgery.blocks.removeLast(1 + other % 5)
                case .newEnd:
                    Self.change(&forgery.blocks[forgery.blocks.count - 1].entries[0].event.payload, digit: UInt8(48 + other))
                }
                return before != forgery.blocks.map(\.entries)
                    || forgery.blocks.indices.contains(block) && forgery.blocks[block].time != time
            }

            /// Another digit where the payload has its amount, or its only one.
            private static func change(_ payload: inout [UInt8], digit: UInt8) {
                if let place = payload.lastIndex(where: { (48 ... 57).contains($0) }) { payload[place] = digit }
            }

            /// What is found of it, by its id.
            package var finding: String {
                switch self {
                case .truncation, .deletion: "STORE102"
                default: "STORE103"
                }
            }
        }
    }
#endif
