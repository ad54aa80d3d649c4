"""What SQLite is asked for each history: a table for each read model, whose rows are made of the events as they were born.

A column is said once, by what is taken from an event and a rule for taking in one more; `upserting` and `grouping` make two programs of
that, of which the comparison takes the quicker. Both read no member that no row needs. Several read models of one history share what
was read, in a temporary table.
"""
import json
import re
from dataclasses import dataclass

KEEP = 50
FIRST, LAST = "substr(customer, 1, instr(customer, ' ') - 1)", "substr(customer, instr(customer, ' ') + 1)"

# How a column takes in one more event, where the row is there already. `once` is for what one event of a row alone can bring, `some` for
# a sum of what not every event brings.
UPSERTS = {
    "last": "excluded.{0}", "once": "coalesce(excluded.{0}, {0})", "sum": "{0} + excluded.{0}",
    "some": "coalesce({0} + excluded.{0}, {0}, excluded.{0})", "max": "max({0}, excluded.{0})",
    "list": f"json_insert(CASE WHEN json_array_length({{0}}) < {KEEP} THEN {{0}} ELSE json_remove({{0}}, '$[0]') END,"
            " '$[#]', json_extract(excluded.{0}, '$[0]'))",
}
# `last` needs none: beside max(position), a bare column is of the row that holds the maximum.
AGGREGATES = {"once": "group_concat({0}, '')", "sum": "sum({0})", "some": "sum({0})", "max": "max({0})", "list": "json_group_array({0})"}


@dataclass
class Table:
    key: str  # of the members, a text
    members: dict  # name -> what it is in `events`; none where the events' parts are what is folded
    columns: dict  # name -> (rule, of the members)
    where: str = "true"  # which events
    parts: str = ""  # how those are joined to `events`

    def values(self, rows):
        """Rows as a query of ours gives them."""
        lists = {name for name, (rule, _) in self.columns.items() if rule == "list"}
        return {key: {name: json.loads(value) if name in lists else value for name, value in zip(self.columns, row) if value is not None}
                for key, *row in rows}

    def create(self, name):
        return f'CREATE TABLE "{name}" (key TEXT PRIMARY KEY, {", ".join(self.columns)}) WITHOUT ROWID'

    def upsert(self, name, source):
        taken = [f"json_array({what})" if rule == "list" else what for rule, what in self.columns.values()]
        sets = [f"{column} = {UPSERTS[rule].format(column)}" for column, (rule, _) in self.columns.items()]
        return (f'INSERT INTO "{name}" SELECT {", ".join([self.key, *taken])} FROM {source}{self.parts} WHERE true'
                f" ON CONFLICT (key) DO UPDATE SET {', '.join(sets)}")

    def group(self, name, source):
        if any(rule == "list" for rule, _ in self.columns.values()):
            source = self.newest(source)
        bare = [member for member in self.members if any(
            rule == "last" and re.search(rf"\b{member}\b", what) for rule, what in self.columns.values())]
        inner = [f"{self.key} AS key", *bare, *(["max(position)"] if bare else [])]
        inner += [f"{AGGREGATES[rule].format(what)} AS {column}" for column, (rule, what) in self.columns.items() if rule != "last"]
        outer = [what if rule == "last" else column for column, (rule, what) in self.columns.items()]
        return (f'INSERT INTO "{name}" SELECT {", ".join(["key", *outer])} FROM'
                f" (SELECT {', '.join(inner)} FROM {source}{self.parts} GROUP BY 1 LIMIT -1)")

    def newest(self, source):
        """No more than a list keeps, in order."""
        back = f"row_number() OVER (PARTITION BY {self.key} ORDER BY position DESC) AS back"
        return f"(SELECT * FROM (SELECT *, {back} FROM {source}) WHERE back <= {KEEP} ORDER BY {self.key}, position LIMIT -1)"


def selected(tables):
    """The members that all these tables need. LIMIT keeps a subquery whole; else its expressions are computed for each of their uses."""
    members = {name: what for table in tables.values() for name, what in table.members.items()}
    wheres = {table.where for table in tables.values()}
    where = wheres.pop() if len(wheres) == 1 else "true"
    return f"SELECT position, {', '.join(f'{what} AS {name}' for name, what in members.items())} FROM events WHERE {where}"


def program(tables, fold, ordered):
    """Statements that are run before the clock, and those that it measures."""
    made = [table.create(name) for name, table in tables.items()]
    members = selected(tables) + (" ORDER BY position" if ordered else "")
    shared = [] if len(tables) == 1 else [f"CREATE TEMP TABLE members AS {members}"]
    source = "members" if shared else f"({members} LIMIT -1)"
    return {"before": made, "timed": shared + [
        fold(table, name, source if table.members else "events") for name, table in tables.items()]}


def upserting(tables):
    return program(tables, Table.upsert, ordered=True)


def grouping(tables):
    return program(tables, Table.group, ordered=False)


def of(**paths):
    """Members of the payload; `None` takes the one of that name."""
    return {name: f"json_extract(payload, '$.{path or name}')" for name, path in paths.items()}


ONE = ("sum", "1")
AMOUNTS = {"first": ("last", FIRST), "last": ("last", LAST), "cents": ("last", "CAST(replace(total, '.', '') AS INTEGER)"), "n": ONE}
ORDERS = Table("id", of(id=None, customer=None, total=None), AMOUNTS)
BASKETS = {
    "sums": Table("basket", of(basket=None, shop=None), {"shop": ("last", "shop"), "n": ONE}),
    "articles": Table(
        "line.value ->> 'sku'", {},
        {"sold": ("sum", "CAST(line.value ->> 'quantity' AS INTEGER)"), "cents": ("max", "100 * (line.value ->> 'price')")},
        parts=", jsonb_each(payload, '$.lines') AS line"),
    "shops": Table("shop", of(shop=None), {"sales": ONE, "last": ("max", "position")}),
    "streams": Table("stream", {"stream": "stream", **of(shop=None)}, {"shops": ("list", "shop")}),
}


def baskets(*names):
    return {name: BASKETS[name.split("-")[0]] for name in names}


def measured(kind):
    return ("some", f"CASE kind WHEN '{kind}' THEN value * CASE unit WHEN 'kilo' THEN 1000 ELSE 2 END END")


def forms():
    columns = {"a": ("last", "CAST(field00 AS INTEGER)"), "b": ("last", "field01"), "state": ("last", "'new'")}
    return Table("form", of(form=None, field00=None, field01=None), columns)


TABLES = {
    "flat": {"orders": ORDERS}, "escaped": {"orders": ORDERS},
    "nested": baskets("sums"), "lists": baskets("streams"), "nested-3": baskets("sums", "articles", "streams"),
    "nested-8": baskets("sums", "articles", "streams", "shops", "sums-2", "shops-2", "streams-2", "articles-2"),
    "guarded": {"sensors": Table(
        "sensor", of(sensor=None, kind=None, unit=None, value=None), {kind: measured(kind) for kind in ("heat", "light", "noise")})},
    # Registered settles somebody, too; nobody but it says a name.
    "parted": {"people": Table(
        "replace(stream, '_', '-')", {"stream": "stream", **of(name=None, city=None)},
        {"name": ("once", "name"), "city": ("last", "city"), "moves": ONE}, where="type <> 'Pinged'")},
    # What Ordered and Priced say of one cart.
    "merged": {"carts": Table(
        "CAST(cart AS TEXT)", of(cart=None, item=None, cents=None), {"item": ("once", "item"), "cents": ("some", "cents")})},
    "wide": {"forms": forms()}, "wider": {"forms": forms()},
    "tiny": {"pages": Table("p", of(p=None, n=None), {"n": ("sum", "n")})},
    "stamped": {"notes": Table("id", {"stream": "stream", **of(id=None, text=None)}, {"text": ("last", "text"), "of": ("last", "stream")})},
    "chained": {"things": Table(
        "id", of(id=None, m1=None, m3=None), {"sum": ("sum", "CAST(m3 AS INTEGER)"), "last": ("last", "m1")})},
    "typed": {"units": Table(
        "CAST(unit AS TEXT)", of(unit=None, value=None), {"sum": ("sum", "value")}, where="type IN ('Type01', 'Type02', 'Type03')")},
    "deep": {"stacks": Table(
        "id", of(id=None, weight="body.level0.level1.level2.level3.weight", tag="body.tag"),
        {"grams": ("sum", "CAST(weight AS INTEGER)"), "tag": ("last", "tag")})},
}
