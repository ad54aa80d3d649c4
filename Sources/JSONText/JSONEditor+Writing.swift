package import Bytes

extension JSONEditor {
    /// Appends a value's JSON text: compact where it was opened, unchanged elsewhere.
    package func write(_ node: Node, into output: inout ByteBuffer) {
        let text = arena.bytes
        let record = records[Int(node.index)]
        if record.isOpened {
            flush(writeContainer(record, records, text, Run(), &output), text, &output)
        } else {
            output.append(text.slice(Int(record.start), Int(record.count)))
        }
    }
}

/// A range of the arena that is to be written and is not copied yet. The next range often follows it in the arena, and one large copy is
/// cheaper than many small ones.
private struct Run {
    var start = 0
    var end = 0
}

/// Writes a container and returns the range that is not copied yet.
private func writeContainer(
    _ container: JSONEditor.Record, _ records: borrowing UniqueArray<JSONEditor.Record>, _ text: RawSpan, _ pending: Run,
    _ output: inout ByteBuffer
) -> Run {
    let isObject = container.kind == .object
    var run = pending
    write(isObject ? UInt8(ascii: "{") : UInt8(ascii: "["), text, &run, &output)
    var next = container.start
    while next >= 0 {
        let child = records[Int(next)]
        if child.isCompact && !child.isOpened {
            write(child.nameStart, child.start &+ child.count &- child.nameStart, text, &run, &output)
        } else {
            if isObject {
                write(child.nameStart, child.nameCount, text, &run, &output)
                write(UInt8(ascii: ":"), text, &run, &output)
            }
            if child.isOpened {
                run = writeContainer(child, records, text, run, &output)
            } else {
                write(child.start, child.count, text, &run, &output)
            }
        }
        next = child.next
        if next >= 0 { write(UInt8(ascii: ","), text, &run, &output) }
    }
    write(isObject ? UInt8(ascii: "}") : UInt8(ascii: "]"), text, &run, &output)
    return run
}

@inline(__always)
private func write(_ start: Int32, _ count: Int32, _ text: RawSpan, _ run: inout Run, _ output: inout ByteBuffer) {
    if Int(start) != run.end {
        flush(run, text, &output)
        run.start = Int(start)
    }
    run.end = Int(start) &+ Int(count)
}

@inline(__always)
private func write(_ mark: UInt8, _ text: RawSpan, _ run: inout Run, _ output: inout ByteBuffer) {
    if text.byte(at: run.end) == mark {
        run.end &+= 1
    } else {
        flush(run, text, &output)
        run.start = run.end
        output.append(mark)
    }
}

@inline(__always)
private func flush(_ run: Run, _ text: RawSpan, _ output: inout ByteBuffer) {
    if run.end > run.start { output.append(text.slice(run.start, run.end &- run.start)) }
}
