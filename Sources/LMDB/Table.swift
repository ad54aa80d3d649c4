/// A named table of an environment, open for as long as the environment is.
package struct Table: Hashable, Sendable {
    package let name: String
    let handle: UInt32
}
