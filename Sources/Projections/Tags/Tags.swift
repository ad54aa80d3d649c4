// Tags: how events are found by what version files tag them with. The index is one more generation; in the order of the work:
//
// 1. `DefinitionSet.tagIndex` defines it for a version: the types that have tags there, and the steps that touch what tags are made of.
// 2. `TagFold.prepare` writes an operation for each tag of an image, and `TagFold.apply` adds the event to a row of 256 positions.
// 3. What builds, follows, flips, rolls back, digests, cuts and verifies read models does so with it too.
// 4. `TagPostings.next` gives the positions that a query's tags have in common, 256 at a time; whoever reads the events looks at their
//    real tags.
