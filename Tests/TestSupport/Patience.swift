/// How long a busy machine with a slow disk may take for what a quiet one does at once. A deadline that ends what hangs is no shorter: a
/// sync of the disk may take five seconds, and a process wait ten for a processor.
package enum Patience {
    package static let seconds = 120
}

extension Duration {
    package static let patience = Duration.seconds(Patience.seconds)
}

/// The shortest of some times, of which the first that is shorter than `enough` is the last: on a busy machine a run may take long for no
/// reason of its own, and what is slow by itself is slow each time.
package func shortest(_ enough: Duration, of runs: Int = 20, _ run: () throws -> Duration) rethrows -> Duration {
    var shortest = try run()
    for _ in 1 ..< runs where shortest >= enough { shortest = min(shortest, try run()) }
    return shortest
}

/// As the one above, of runs that wait.
package func shortest(_ enough: Duration, of runs: Int = 20, _ run: () async throws -> Duration) async rethrows -> Duration {
    var shortest = try await run()
    for _ in 1 ..< runs where shortest >= enough { shortest = min(shortest, try await run()) }
    return shortest
}
