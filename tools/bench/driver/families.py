"""Histories of many kinds: each has version files, read models, seeded events, and a fold in Python that says what its rows are.

A family is made by a function of a random generator. `folds` are the read models' own folds, written from the design alone: each
gets the stream and the event as it was born, and a dictionary of rows.
"""
import collections
import json
import random
from dataclasses import dataclass


@dataclass
class Family:
    versions: list  # of the events of v1, v2 …: {"events": …, "upcast": …}
    models: dict  # of definitions of read models, each as from version 1 on at the newest version
    event: object  # (rng, i) -> [(stream, type, data)], the events of one line or several
    folds: dict  # name -> (rows, stream, type, data, position), which changes rows as the newest version does
    returns: bool = True  # whether every event comes down from the newest version as it was


WORDS = "the quick brown fox jumps over the lazy dog while nobody is looking at the old mill by the river".split()


def text(rng, count):
    return " ".join(rng.choice(WORDS) for _ in range(count))


def obj(required, **properties):
    return {"required": required.split(), "properties": properties}


STRING, INTEGER, NUMBER, BOOLEAN = {"type": "string"}, {"type": "integer"}, {"type": "number"}, {"type": "boolean"}


def typed(shape):
    return {"type": "object", **shape}


def array(items):
    return {"type": "array", "items": items}


def model(since, key, on, **more):
    return [{"since": since, "key": key, "on": on, **more}]


def count(rows, key):
    return rows.setdefault(key, collections.defaultdict(int))


def flat():
    v1 = {"Placed": {"stream": "order-{/id}", **obj(
        "id customer total placedAt note", id=STRING, customer=STRING, total=STRING, placedAt=INTEGER, note=STRING)}}
    v2 = {"Placed": {"stream": "order-{/id}", **obj(
        "id name cents placedAt note currency", id=STRING, name=typed(obj("first", first=STRING, last=STRING)), cents=INTEGER,
        placedAt={"type": "string", "format": "date-time"}, note=STRING, currency=STRING)}}
    up = [{"on": "Placed", "do": [
        {"split": {"path": "/customer", "into": ["/name/first", "/name/last"], "separator": " ", "at": "first", "missing": "absent"}},
        {"move": {"from": "/total", "path": "/cents"}},
        {"convert": {"path": "/cents", "to": "integer", "using": {"decimal": {"scale": 2}}}},
        {"convert": {"path": "/placedAt", "to": "string", "using": "epoch-seconds"}},
        {"add": {"path": "/currency", "value": "USD"}}]}]

    def event(rng, i):
        customer = f"{rng.choice(WORDS)} {rng.choice(WORDS)}"
        return [(f"order-{i}", "Placed", {
            "id": str(i), "customer": customer, "total": f"{rng.randrange(10000)}.{rng.randrange(100):02d}",
            "placedAt": 1600000000 + i, "note": text(rng, 18)})]

    def orders(rows, stream, kind, data, position):
        first, last = data["customer"].split(" ", 1)
        row = count(rows, data["id"])
        row.update(first=first, last=last, cents=int(data["total"].replace(".", "")))
        row["n"] += 1

    models = {"orders": model(2, "/id", {"Placed": {
        "set": {"/first": "/name/first", "/last": "/name/last", "/cents": "/cents"}, "add": {"/n": {"value": 1}}}})}
    return Family([{"events": v1}, {"events": v2, "upcast": up}], models, event, {"orders": orders})


LINE1 = typed(obj("sku quantity price", sku=STRING, quantity=STRING, price=NUMBER))
LINE2 = typed(obj("article quantity price unit", article=STRING, quantity=INTEGER, price=NUMBER, unit=STRING))


def nested(models=("sums",)):
    def shape(line, **more):
        return {"Sold": {"stream": "basket-{/basket}", **obj(
            "basket shop lines" + "".join(f" {name}" for name in more), basket=STRING, shop=STRING, lines=array(line), **more)}}

    v1, v2 = shape(LINE1), shape(LINE2)
    v3 = shape(typed(obj("article quantity cents unit", article=STRING, quantity=INTEGER, cents=INTEGER, unit=STRING)), open=BOOLEAN)
    up2 = [{"on": "Sold", "do": [{"each": {"path": "/lines", "do": [
        {"move": {"from": "/sku", "path": "/article"}},
        {"convert": {"path": "/quantity", "to": "integer", "using": "integer-text"}},
        {"add": {"path": "/unit", "value": "piece"}}]}}]}]
    up3 = [{"on": "Sold", "do": [
        {"each": {"path": "/lines", "do": [
            {"move": {"from": "/price", "path": "/cents"}},
            {"convert": {"path": "/cents", "to": "integer", "using": {"scale": {"num": 100}}}}]}},
        {"add": {"path": "/open", "value": False}}]}]

    def event(rng, i):
        basket = rng.randrange(1 + i // 4)
        lines = [{"sku": f"a{rng.randrange(500)}", "quantity": str(rng.randrange(1, 20)), "price": rng.randrange(1, 99)}
                 for _ in range(rng.choice((0, 1, 1, 2, 3, 5)))]
        return [(f"basket-{basket}", "Sold", {"basket": str(basket), "shop": rng.choice(WORDS), "lines": lines})]

    def sums(rows, stream, kind, data, position):
        row = count(rows, data["basket"])
        row["shop"] = data["shop"]
        row["n"] += 1

    def articles(rows, stream, kind, data, position):
        for line in data["lines"]:
            row = count(rows, line["sku"])
            row["sold"] += int(line["quantity"])
            row["cents"] = max(row["cents"], line["price"] * 100)

    def shops(rows, stream, kind, data, position):
        row = count(rows, data["shop"])
        row["sales"] += 1
        row["last"] = position

    def streams(rows, stream, kind, data, position):
        row = rows.setdefault(stream, {"shops": []})
        row["shops"] = (row["shops"] + [data["shop"]])[-50:]

    definitions = {
        "sums": model(3, "/basket", {"Sold": {"set": {"/shop": "/shop"}, "add": {"/n": {"value": 1}}}}),
        "articles": model(3, "$item/article", {"Sold": {
            "each": "/lines", "add": {"/sold": "$item/quantity"}, "max": {"/cents": "$item/cents"}}}),
        "shops": model(3, "/shop", {"Sold": {"add": {"/sales": {"value": 1}}, "set": {"/last": "$position"}}}),
        "streams": model(3, "$stream", {"Sold": {"append": {"/shops": {"from": "/shop", "keep": 50}}}}),
    }
    folds = {"sums": sums, "articles": articles, "shops": shops, "streams": streams}
    chosen, made = {}, {}
    for name in models:
        base = name.split("-")[0]
        chosen[name], made[name] = definitions[base], folds[base]
    return Family([{"events": v1}, {"events": v2, "upcast": up2}, {"events": v3, "upcast": up3}], chosen, event, made)


def guarded():
    v1 = {"Measured": {"stream": "sensor-{/sensor}", **obj(
        "sensor unit kind value", sensor=STRING, unit=STRING, kind={"type": "string", "enum": ["heat", "light", "noise"]}, value=INTEGER, note=STRING)}}
    v2 = {"Measured": {"stream": "sensor-{/sensor}", **obj(
        "sensor unit kind value", sensor=STRING, unit=STRING, kind={"type": "string", "enum": ["heat", "light", "noise"]}, value=INTEGER, note=STRING, source=STRING)}}
    both = dict(sensor=STRING, unit=STRING, value=INTEGER, note=STRING, source=STRING)
    v3 = {name: {"stream": "sensor-{/sensor}", **obj("sensor unit value", **both)} for name in ("Heat", "Light", "Noise")}
    up2 = [{"on": "Measured", "do": [
        {"when": {"path": "/unit", "equals": "kilo", "do": [{"convert": {"path": "/value", "to": "integer", "using": {"scale": {"num": 1000}}}}],
                  "else": [{"convert": {"path": "/value", "to": "integer", "using": {"scale": {"num": 2}}}}]}},
        {"allow": {"path": "/source", "down": "absent"}}]}]
    up3 = [{"rename-event": {"from": "Measured", "by": "/kind", "to": {"heat": "Heat", "light": "Light", "noise": "Noise"}}}]

    def event(rng, i):
        sensor = rng.randrange(2000)
        data = {"sensor": str(sensor), "unit": rng.choice(("kilo", "one")), "kind": rng.choice(("heat", "light", "noise")),
                "value": rng.randrange(1000)}
        if rng.random() < 0.5:
            data["note"] = text(rng, 8)
        return [(f"sensor-{sensor}", "Measured", data)]

    def sensors(rows, stream, kind, data, position):
        row = count(rows, data["sensor"])
        row[data["kind"]] += data["value"] * (1000 if data["unit"] == "kilo" else 2)

    on = {name: {"add": {f"/{name.lower()}": "/value"}} for name in v3}
    return Family([{"events": v1}, {"events": v2, "upcast": up2}, {"events": v3, "upcast": up3}],
                  {"sensors": model(3, "/sensor", on)}, event, {"sensors": sensors})


def parted():
    v1 = {"Registered": {"stream": "person_{/id}", **obj(
              "id name street city", id=STRING, name=STRING, street=STRING, city=STRING)},
          "Moved": {"stream": "person_{/id}", **obj("id street city", id=STRING, street=STRING, city=STRING)},
          "Pinged": {"stream": "person_{/id}", **obj("id", id=STRING)}}
    v2 = {"Registered": {"stream": "person_{/id}", **obj("id name", id=STRING, name=STRING)},
          "Settled": {"stream": "person_{/id}", **obj("id street city", id=STRING, street=STRING, city=STRING)},
          "Moved": v1["Moved"]}
    v3 = {"Registered": {"stream": "person-{/id}", **obj("id name", id=STRING, name=STRING)},
          "Settled": {"stream": "person-{/id}", **obj("id street city", id=STRING, street=STRING, city=STRING)},
          "Relocated": {"stream": "person-{/id}", **obj("id street city", id=STRING, street=STRING, city=STRING)}}
    up2 = [{"split-event": {"type": "Registered", "into": [
               {"type": "Registered", "pick": ["/id", "/name"], "down": {"as": {"/street": "", "/city": ""}}},
               {"type": "Settled", "pick": ["/id", "/street", "/city"], "down": {"hide": "it is of Registered"}}]}},
           {"drop-event": {"type": "Pinged", "because": "nobody asks"}}]
    up3 = [{"rename-event": {"from": "Moved", "to": "Relocated"}}, {"rekey": {"from": "person_{id}", "to": "person-{id}"}}]

    def event(rng, i):
        kind = rng.random()
        if i == 0 or kind < 0.4:
            return [(f"person_{i}", "Registered", {"id": str(i), "name": text(rng, 2), "street": text(rng, 4), "city": rng.choice(WORDS)})]
        who = rng.randrange(i)
        if kind < 0.8:
            return [(f"person_{who}", "Moved", {"id": str(who), "street": text(rng, 4), "city": rng.choice(WORDS)})]
        return [(f"person_{who}", "Pinged", {"id": str(who)})]

    def people(rows, stream, kind, data, position):
        if kind == "Pinged":
            return
        row = count(rows, stream.replace("_", "-"))
        if kind == "Registered":
            row["name"] = data["name"]
        row["city"] = data["city"]
        row["moves"] += 1

    moved = {"set": {"/city": "/city"}, "add": {"/moves": {"value": 1}}}
    on = {"Registered": {"set": {"/name": "/name"}}, "Settled": moved, "Relocated": moved}
    return Family([{"events": v1}, {"events": v2, "upcast": up2}, {"events": v3, "upcast": up3}],
                  {"people": model(3, "$stream", on)}, event, {"people": people}, returns=False)


def merged():
    v1 = {"Ordered": {"stream": "cart-{/cart}", **obj("cart item", cart=INTEGER, item=STRING)},
          "Priced": {"stream": "cart-{/cart}", **obj("cart cents", cart=INTEGER, cents=INTEGER)}}
    v2 = {"Bought": {"stream": "cart-{/cart}", **obj("cart item cents", cart=INTEGER, item=STRING, cents=INTEGER)}}
    up = [{"merge-events": {"types": ["Ordered", "Priced"], "into": "Bought", "on": "/cart"}}]

    def event(rng, i):
        return [(f"cart-{i}", "Ordered", {"cart": i, "item": text(rng, 10)}), (f"cart-{i}", "Priced", {"cart": i, "cents": rng.randrange(9999)})]

    def carts(rows, stream, kind, data, position):
        row = count(rows, str(data["cart"]))
        row.update({name: value for name, value in data.items() if name != "cart"})

    return Family([{"events": v1}, {"events": v2, "upcast": up}],
                  {"carts": model(2, "/cart", {"Bought": {"set": {"/item": "/item", "/cents": "/cents"}}})}, event, {"carts": carts})


def wide(members=60):
    names = [f"field{n:02d}" for n in range(members)]
    def shape(kind, extra):
        properties = {name: (INTEGER if n % 3 == 0 and kind == 2 else STRING) for n, name in enumerate(names)}
        return {"Filed": {"stream": "form-{/form}", **obj("form " + " ".join(names) + extra, form=STRING, **properties,
                                                         **({"state": STRING} if extra else {}))}}
    up = [{"on": "Filed", "do": [{"convert": {"path": f"/{name}", "to": "integer", "using": "integer-text"}}
                                 for n, name in enumerate(names) if n % 3 == 0] + [{"add": {"path": "/state", "value": "new"}}]}]

    def event(rng, i):
        data = {"form": str(i)}
        for n, name in enumerate(names):
            data[name] = str(rng.randrange(10**6)) if n % 3 == 0 else text(rng, 5)
        return [(f"form-{i}", "Filed", data)]

    def forms(rows, stream, kind, data, position):
        row = count(rows, data["form"])
        row.update(a=int(data["field00"]), b=data["field01"], state="new")

    on = {"Filed": {"set": {"/a": "/field00", "/b": "/field01", "/state": "/state"}}}
    return Family([{"events": shape(1, "")}, {"events": shape(2, " state"), "upcast": up}], {"forms": model(2, "/form", on)}, event, {"forms": forms})


def tiny():
    v1 = {"Hit": {"stream": "page-{/p}", **obj("p n", p=STRING, n=INTEGER)}}
    v2 = {"Hit": {"stream": "page-{/page}", **obj("page n", page=STRING, n=INTEGER)}}
    up = [{"on": "Hit", "do": [{"move": {"from": "/p", "path": "/page"}}]}]

    def event(rng, i):
        page = rng.randrange(1000)
        return [(f"page-{page}", "Hit", {"p": str(page), "n": rng.randrange(100)})]

    def pages(rows, stream, kind, data, position):
        row = count(rows, data["p"])
        row["n"] += data["n"]

    return Family([{"events": v1}, {"events": v2, "upcast": up}],
                  {"pages": model(2, "/page", {"Hit": {"add": {"/n": "/n"}}})}, event, {"pages": pages})


def stamped():
    v1 = {"Noted": {"stream": "note-{/id}", **obj("id text", id=STRING, text=STRING)}}
    v2 = {"Noted": {"stream": "note-{/id}", **obj("id text at of", id=STRING, text=STRING, at={"type": "string", "format": "date-time"}, of=STRING)}}
    up = [{"on": "Noted", "do": [{"add": {"path": "/at", "from": "$time"}}, {"add": {"path": "/of", "from": "$stream"}}]}]

    def event(rng, i):
        note = rng.randrange(1 + i // 3)
        return [(f"note-{note}", "Noted", {"id": str(note), "text": text(rng, 20)})]

    def notes(rows, stream, kind, data, position):
        row = count(rows, data["id"])
        row.update(text=data["text"], of=stream)

    on = {"Noted": {"set": {"/text": "/text", "/of": "/of"}}}
    return Family([{"events": v1}, {"events": v2, "upcast": up}], {"notes": model(2, "/id", on)}, event, {"notes": notes})


def escaped():
    """As flat, in languages that ASCII does not hold, with quotes and line ends in the texts."""
    family = flat()
    plain = family.event

    def event(rng, i):
        [(stream, kind, data)] = plain(rng, i)
        data["note"] = "„" + data["note"].replace(" ", "\n", 2).replace("o", "ö") + "“ \"" + rng.choice(WORDS) + "\""
        data["customer"] = f"Åsa \"{rng.choice(WORDS)}\""
        return [(stream, kind, data)]

    family.event = event
    return family


def chained(versions=15):
    """A small change in each of many versions."""
    def shape(version):
        names = {"id": STRING, "note": STRING} | {f"m{n}" if n >= version else f"n{n}": INTEGER if n < version and n % 3 == 0 else STRING
                                                   for n in range(1, versions)}
        return {"Changed": {"stream": "thing-{/id}", **obj(" ".join(names), **names)}}

    def up(version):
        n = version - 1
        steps = [{"move": {"from": f"/m{n}", "path": f"/n{n}"}}]
        if n % 3 == 0:
            steps.append({"convert": {"path": f"/n{n}", "to": "integer", "using": "integer-text"}})
        return [{"on": "Changed", "do": steps}]

    def event(rng, i):
        thing = rng.randrange(1 + i // 5)
        data = {"id": str(thing), "note": text(rng, 6)} | {f"m{n}": str(rng.randrange(10**4)) for n in range(1, versions)}
        return [(f"thing-{thing}", "Changed", data)]

    def things(rows, stream, kind, data, position):
        row = count(rows, data["id"])
        row["sum"] += int(data["m3"])
        row["last"] = data["m1"]

    on = {"Changed": {"add": {"/sum": "/n3"}, "set": {"/last": "/n1"}}}
    return Family([{"events": shape(1)}] + [{"events": shape(v), "upcast": up(v)} for v in range(2, versions + 1)],
                  {"things": model(versions, "/id", on)}, event, {"things": things})


def typed_many(count_of_types=25):
    """Many types; a fifth is dropped, a fifth renamed, a fifth changed, and the read model listens to three."""
    def shape(member):
        return {"stream": "unit-{/unit}", **obj(f"unit {member} note", unit=INTEGER, note=STRING, **{member: INTEGER})}

    v1 = {f"Type{n:02d}": shape("value") for n in range(count_of_types)}
    v2, steps = {}, []
    for n in range(count_of_types):
        name = f"Type{n:02d}"
        if n % 5 == 0:
            steps.append({"drop-event": {"type": name, "because": "nobody asks"}})
        elif n % 5 == 1:
            v2[f"Kind{n:02d}"] = shape("value")
            steps.append({"rename-event": {"from": name, "to": f"Kind{n:02d}"}})
        elif n % 5 == 2:
            v2[name] = shape("amount")
            steps.append({"on": name, "do": [{"move": {"from": "/value", "path": "/amount"}}]})
        else:
            v2[name] = v1[name]

    def event(rng, i):
        unit = rng.randrange(3000)
        return [(f"unit-{unit}", f"Type{rng.randrange(count_of_types):02d}", {"unit": unit, "value": rng.randrange(100), "note": text(rng, 8)})]

    def units(rows, stream, kind, data, position):
        if kind in ("Type01", "Type02", "Type03"):
            count(rows, str(data["unit"]))["sum"] += data["value"]

    on = {"Kind01": {"add": {"/sum": "/value"}}, "Type02": {"add": {"/sum": "/amount"}}, "Type03": {"add": {"/sum": "/value"}}}
    return Family([{"events": v1}, {"events": v2, "upcast": steps}], {"units": model(2, "/unit", on)}, event, {"units": units}, returns=False)


def deep():
    """Changes within objects of objects, beside a map whose members no version names."""
    def level(depth, inner):
        for n in reversed(range(depth)):
            inner = typed(obj(f"level{n} tag", tag=STRING, **{f"level{n}": inner}))
        return inner

    def event_shape(last):
        return {"Stacked": {"stream": "stack-{/id}", **obj(
            "id body labels", id=STRING, body=level(4, last), labels={"type": "object", "additionalProperties": STRING})}}

    v1 = event_shape(typed(obj("weight unit", weight=STRING, unit=STRING)))
    v2 = event_shape(typed(obj("grams unit origin", grams=INTEGER, unit=STRING, origin=STRING)))
    at = "/body/level0/level1/level2/level3"
    up = [{"on": "Stacked", "do": [
        {"move": {"from": f"{at}/weight", "path": f"{at}/grams"}},
        {"convert": {"path": f"{at}/grams", "to": "integer", "using": "integer-text"}},
        {"add": {"path": f"{at}/origin", "value": "old"}}]}]

    def event(rng, i):
        stack = rng.randrange(1 + i // 4)
        body = {"weight": str(rng.randrange(1000)), "unit": "g"}
        for n in reversed(range(4)):
            body = {f"level{n}": body, "tag": rng.choice(WORDS)}
        labels = {rng.choice(WORDS): text(rng, 2) for _ in range(rng.randrange(5))}
        return [(f"stack-{stack}", "Stacked", {"id": str(stack), "body": body, "labels": labels})]

    def stacks(rows, stream, kind, data, position):
        row = count(rows, data["id"])
        row["grams"] += int(data["body"]["level0"]["level1"]["level2"]["level3"]["weight"])
        row["tag"] = data["body"]["tag"]

    on = {"Stacked": {"add": {"/grams": f"{at}/grams"}, "set": {"/tag": "/body/tag"}}}
    return Family([{"events": v1}, {"events": v2, "upcast": up}], {"stacks": model(2, "/id", on)}, event, {"stacks": stacks})


FAMILIES = {
    "flat": flat, "nested": nested, "nested-3": lambda: nested(("sums", "articles", "streams")),
    "nested-8": lambda: nested(("sums", "articles", "streams", "shops", "sums-2", "shops-2", "streams-2", "articles-2")),
    "lists": lambda: nested(("streams",)),
    "guarded": guarded, "parted": parted, "merged": merged, "wide": wide, "wider": lambda: wide(100), "tiny": tiny, "stamped": stamped,
    "escaped": escaped, "chained": chained, "typed": typed_many, "deep": deep,
}


def generate(family, count, seed):
    """Events of a family, as they are appended."""
    rng = random.Random(seed)
    made = i = 0
    while made < count:
        for event in family.event(rng, i):
            yield event
            made += 1
        i += 1


def measure(name):
    """What a history's rate is counted in: events below 60 bytes cost what an event costs, whatever they hold."""
    payloads = [json.dumps(data, separators=(",", ":"), ensure_ascii=False).encode() for _, _, data in generate(FAMILIES[name](), 200, 1)]
    return "bytes" if sum(map(len, payloads)) >= 60 * len(payloads) else "events"
