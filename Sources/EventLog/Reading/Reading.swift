// Reading: how stored events are lent. In the order of the calls:
//
// 1. `EventLog.read` opens one short read transaction; all answers of its `LogReader` are as of one state of the log. `EventLog.scan` does
//    so for long work, chunk by chunk.
// 2. `LogReader.stream` finds a stream in the indexes, completed by what was appended after the last sweep (`LogSnapshot`, `Overlay`).
// 3. `StreamWalk.forwards` jumps to a revision, then goes from event to event.
// 4. `Blocks.record` finds the block of a position and checks it, and the record in it, before any part of it is used.
// 5. `LogAccess.open` opens the record of a sealed store (`RecordOpener`); records of other stores are lent as they are. It keeps no copy.
