@_exported public import EventModel
@_exported public import LogKeeping
@_exported public import Migration
@_exported public import Projections
@_exported public import SchemaEvolution
