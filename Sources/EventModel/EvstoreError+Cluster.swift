extension EvstoreError {
    /// The errors of a store that is a node of a cluster log.
    var clustered: ErrorDetails? {
        switch self {
        case .logUnavailable(let log, let reason):
            .init(
                "logUnavailable", "the cluster log \(log) can't be asked: \(reason); nothing was written",
                fix: "reads and queries go on; run this again once the cluster log is there")
        case .clusterWentBack(let log, let cluster, let node):
            .init(
                "clusterWentBack",
                "the cluster log \(log) was set back: it ends at position \(cluster), or goes on otherwise, and this node has \(node)",
                advice: "keep this node as it is; \(.rescue) exports what only it has, then join anew in another directory",
                place: .init(position: node))
        case .clusterDamaged(let log, let frame, let reason):
            .init(
                "clusterDamaged", "frame \(frame) of the cluster log \(log) is damaged: \(reason)",
                fix: "restore the cluster log's database; every node that has the frame still has its events")
        case .clusterMismatch(let log, let reason, let how):
            .init("clusterMismatch", "this store and the cluster log \(log) do not go together: \(reason)", advice: how)
        default: nil
        }
    }
}
