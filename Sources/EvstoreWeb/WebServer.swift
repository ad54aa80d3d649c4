#if Service
    package import Evstore
    package import EvstoreService
    internal import NIOCore
    internal import NIOPosix
    internal import Platform
    internal import Synchronization

    /// Serves a store's health, readiness and metrics over HTTP, and its page.
    ///
    ///     GET /healthz   200 where the store can be read, else 503
    ///     GET /readyz    200 where its live read models are built and near the log's end, else 503, with what is not
    ///     GET /metrics   figures for Prometheus
    ///     GET /…         the page, for who has the token
    ///
    /// On loopback, a browser shows the token once, in `?token=`, and then has a session, at a host name that only this server uses. A
    /// program sends the token with each request (`Authorization: Bearer`). A client that may open a Unix socket needs no token.
    package final class WebServer: Sendable {
        let store: EventStore
        let metrics: StoreMetrics
        let registry: PrometheusRegistry
        let backups: String?
        let page: Page?
        /// Nil where every client of the server may see the page.
        let sessions: PageSessions?
        let address: ListenAddress
        private let state = Mutex(State())

        private struct State {
            /// The channel that it listens on.
            var listener: (any Channel)?
            var socket: UnixSocket?
            var isStopped = false
            var connections: [ObjectIdentifier: any Channel] = [:]
        }

        private struct NoRoom: Error {}

        /// The most connections at a time; a further one is closed.
        private static let connectionsMax = 64
        /// How long open connections may last once the server stops.
        private static let graceSeconds = Int64(3)

        /// - Parameters:
        ///   - page: nil where the server has no page.
        ///   - token: the token that a browser needs for the page; nil where every client of the server may see it.
        package init(
            _ store: EventStore, _ metrics: StoreMetrics, _ registry: PrometheusRegistry, backups: String?, at address: ListenAddress,
            page: Page? = nil, token: String? = nil
        ) {
            (self.store, self.metrics, self.registry, self.backups) = (store, metrics, registry, backups)
            (self.address, self.page) = (address, page)
            sessions = token.map { PageSessions(token: $0, store: store.path) }
        }

        /// The port that it listens on; nil for a Unix socket.
        var port: Int? { state.withLock(\.listener)?.localAddress?.port }

        /// Serves until it is stopped or cancelled, and then finishes the current requests.
        /// - Parameter listening: called once it can be reached, with the port where there is one.
        /// - Throws: `EvstoreError.usage` where it can't listen at its address; what `listening` throws.
        package func run(listening: (Int?) async throws -> Void) async throws {
            let listener = try await bound()
            let isStopped = state.withLock { state in
                state.listener = listener
                return state.isStopped
            }
            if isStopped { close(listener) }
            try await withTaskCancellationHandler {
                do {
                    if !isStopped { try await listening(port) }
                    try await listener.closeFuture.get()
                } catch {
                    close(listener)
                    throw error
                }
            } onCancel: {
                close(listener)
            }
            await endConnections()
        }

        /// Stops the work that the page has begun, then the server, which finishes the current requests within three seconds.
        package func stop() async {
            await page?.changes?.work.end()
            let listener = state.withLock { state in
                state.isStopped = true
                return state.listener
            }
            if let listener { close(listener) }
        }

        private func close(_ listener: any Channel) {
            if listener.isActive { state.withLock(\.socket)?.remove() }
            listener.close(promise: nil)
        }

        private func bound() async throws -> any Channel {
            let bootstrap = ServerBootstrap(group: .singletonMultiThreadedEventLoopGroup)
                .serverChannelOption(.socketOption(.so_reuseaddr), value: 1)
                // A client may say that its request is whole by closing its side (RFC 9112, 9.6): it gets its answer still.
                .childChannelOption(.allowRemoteHalfClosure, value: true)
                .childChannelInitializer { [self] channel in
                    channel.eventLoop.makeCompletedFuture {
                        try admit(channel)
                        try WebConnection.configure(channel) { await self.answer($0) }
                    }
                }
            do {
                switch address {
                case .loopback(let port): return try await bootstrap.bind(host: "127.0.0.1", port: Int(port)).get()
                case .socket(let path):
                    let socket = try UnixSocket(boundTo: path)
                    state.withLock { $0.socket = socket }
                    return try await bootstrap.withBoundSocket(socket.descriptor).get()
                }
            } catch {
                throw EvstoreError.usage("\(address.description) can't be listened on: \(Self.reason(error))")
            }
        }

        private static func reason(_ error: any Error) -> String {
            let failure = (error as? IOError).map { SystemFailure(code: $0.errnoCode) } ?? error as? SystemFailure
            guard let failure else { return "\(error)" }
            return failure.isAddressInUse ? "another program does, or another file has that name" : failure.description
        }

        /// Counts a connection until it is closed.
        /// - Throws: where there are too many connections, or the server is stopped.
        private func admit(_ channel: any Channel) throws {
            try state.withLock { state in
                if state.isStopped || state.connections.count >= Self.connectionsMax { throw NoRoom() }
                state.connections[ObjectIdentifier(channel)] = channel
            }
            channel.closeFuture.whenComplete { [self] _ in
                _ = state.withLock { $0.connections.removeValue(forKey: ObjectIdentifier(channel)) }
            }
        }

        /// Waits until the current connections are closed; closes those that are still open after the grace period.
        private func endConnections() async {
            let connections = state.withLock { state in
                state.isStopped = true
                return Array(state.connections.values)
            }
            let late = connections.map { channel in
                channel.eventLoop.scheduleTask(in: .seconds(Self.graceSeconds)) { channel.close(promise: nil) }
            }
            for channel in connections {
                do { try await channel.closeFuture.get() } catch {
                    // The connection is closed, whatever its client did.
                }
            }
            for task in late { task.cancel() }
        }
    }
#endif
