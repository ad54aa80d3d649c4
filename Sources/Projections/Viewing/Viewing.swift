// Viewing: how a stored event becomes the images that a version sees. In the order of the calls:
//
// 1. `EventLog.read` or `EventLog.scan` opens a read transaction, and its `LogReader` lends the event as a `RecordView`.
// 2. `EventViewer.path(of:)` compiles the path from the birth version to the target, once for each type.
// 3. `EventViewer.view(_:along:_:_:)` chooses what the image is made of:
//    - the events of its append, where a step on the way up merges: `MergedAppends.view`, which reads those around by the same reader;
//    - the shadow, where one is kept for a version on the way down: `Shadow`, then `PathRunner.view`;
//    - the payload: `PathInterpreter.run`.
// 4. `StreamNames.name(of:at:_:)` names the stream, where the path or the caller asks for it, by the same reader.
//
// `EventConverter` (room Evstore) makes `RecordedEvent`s of the images, `EventPreparer` (Building) the operations of read models.
