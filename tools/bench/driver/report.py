"""What was found, as a table for people, in the docs page and in the results directory."""
import json
import re
import statistics

from driver import plots
from driver.cases import median, ratios, short
from driver.running import BENCH, ROOT

PAGE = ROOT / "Sources" / "Evstore" / "Evstore.docc" / "Benchmarks.md"
RESULTS = BENCH / "results"
# What the page says of each goal, under the head of its table.
HEAD = "| goal | what is asked |\n| --- | --- |\n"
GOALS = {
    "P1": "durable appends of one event by 1 to 256 writers: 0.65 of a file that is only written and synced; ahead of SQLite and GRDB;"
          " one and four writers on a quick disk: 0.8 of the file, ahead of SQLite",
    "P2": "10,000 events an append: not behind LMDB used directly; 10 times SQLite",
    "P3": "a scan with checksums: 0.8 of the same blocks scanned in C",
    "P4": "an event from version 1 to 5: twice the time of one pass over its bytes, and no more for more versions",
    "P5": "a replay from version 1 to 5, end to end: 4 million events a second on two processors; 20 times the best that SQLite or"
          " PostgreSQL do; under 512 MiB at any size",
    "P6": "a rollback with an empty tail: 10 ms at any size; with a tail: at the rate of a replay of the tail",
    "P7": "writers wait for the flip: under 5 ms",
    "P8": "opening 10 million events: 20 ms, 200 ms after kill -9",
    "P9": "bytes on the disk beside the payload: 110 in full blocks, 220 for an event a commit",
    "P10": "a stream of 10 events: half of SQLite's time; the last 10 of a million: within 3 times of that",
    "P11": "histories of other kinds, replayed and read up and down: none below half of the flat one, in bytes a second, or in events"
           " where they are smaller than 60 bytes",
    "P12": "sealed: imported and replayed at half of the clear rate, with personal parts at a third; 200,000 persons add 0.2 s to `verify`"
           " and to a backup that has nothing new",
    "P13": "5,000 events: a replay in 50 ms of processor time and 10 syncs; a row by its key in 15 ms, whole processes",
    "P14": "a build on two processors: 4 minutes for a release, 5 with tests for debugging, 30 s after a change",
    "P15": "a read model's row by its key, beside SQLite, GRDB and Redis",
    "P16": "from an append to its event in another process that subscribes, beside PostgreSQL and UmaDB",
    "P17": "a cluster log beside a plain table of events on the same PostgreSQL: ahead of it from 16 writers on",
}
BEGIN, END = "<!-- measured by tools/bench/compare --report: begin -->", "<!-- measured by tools/bench/compare --report: end -->"


def spread(figure, mark=""):
    middle, low, high = figure
    return f"{short(middle)}{mark}" + (f" ({short(low)} to {short(high)})" if low != high else "")


def figure(found, unit):
    """The median. Behind it, of appends how long a caller waited: half of them, all but one of a hundred, the longest; of a delay the last
    two; of bytes a second the events."""
    text = f"{short(median(found))} {unit}"
    for shown, names, other in (("events/s", ("p50", "p99", "max"), "µs"), ("µs", ("p99", "max"), "µs"),
                                ("bytes/s", ("eventsPerSecond",), "events/s")):
        if unit == shown and all(name in each for each in found["rounds"] for name in names):
            middle = [short(statistics.median(each[name] for each in found["rounds"])) for name in names]
            text += f" ({' / '.join(middle)} {other})"
    return text


def rows(results):
    """goal, work, who, figure, ours against it, what is asked, met: one row for each that took part."""
    for case in results["cases"]:
        asked = {v["against"]: v for v in case["verdicts"]}
        # What holds against nobody is said in our own row.
        for who, found in sorted(case["found"].items(), key=lambda item: item[0] != case["us"]):
            goal = asked.get(None if who == case["us"] else who)
            if "missing" in found and not found["rounds"]:
                yield case, who, "not measured", "", goal["text"] if goal else "", ""
                continue
            ratio = ""
            if who != case["us"] and case["found"][case["us"]]["rounds"]:
                ratio = spread(ratios(case["found"], case["us"], who), " ×")
            met = ("yes" if goal["met"] else "no") if goal and "met" in goal else ""
            yield case, who, figure(found, case["unit"]), ratio, goal["text"] if goal else "", met


def table(results):
    """For a terminal."""
    lines, last = [describe(results), ""], None
    for case, who, found, ratio, goal, met in rows(results):
        if case is not last:
            lines += ["", f"{case['goal']}  {case['case']}"]
            last = case
        note = f"   {goal}: {met or 'not measured'}" if goal else ""
        lines.append(f"    {who:28} {found:44} {ratio:32}{note}".rstrip())
        lines.append(f"        {case['found'][who].get('missing') or case['found'][who]['asked']}")
    return "\n".join(lines)


def describe(results):
    on = results["machine"]
    versions = ", ".join(f"{name} {short_version(text)}" for name, text in on["versions"].items())
    return (
        f"Measured {on['when']} on {on['processors']} × {on['processor']}, {on['memoryGiB']} GiB, Linux {on['kernel']}, "
        f"{on['filesystem']}, load {on['loadBefore']} before; {results['rounds']} rounds{', small data' if results['quick'] else ''}. {versions}. "
        "Behind a rate of appends, in microseconds: the median wait, the 99th of 100, the longest; behind a delay the last two.")


def short_version(text):
    found = re.search(r"\d+(\.\d+)+", text)
    return found.group(0) if found else text


def markdown(results):
    lines = [describe(results), "", "| goal | work | who | figure | ours : theirs | asked | met |", "| --- | --- | --- | --- | --- | --- | --- |"]
    last = None
    for case, who, found, ratio, goal, met in rows(results):
        head = (case["goal"], case["case"]) if case is not last else ("", "")
        last = case
        lines.append(f"| {head[0]} | {head[1]} | {who} | {found} | {ratio} | {goal} | {met} |")
    asked = {}
    for case in results["cases"]:
        for who, found in case["found"].items():
            asked.setdefault((case["goal"], who), found["asked"])
    lines += ["", "What each was asked to do:", ""]
    lines += [f"- {goal}, {who}: {text}." for (goal, who), text in asked.items()]
    missing = {(who, f["missing"]) for case in results["cases"] for who, f in case["found"].items() if "missing" in f}
    if missing:
        lines += ["", "Not measured:", ""] + [f"- {who}: {' '.join(why.split())}" for who, why in sorted(missing)]
    return "\n".join(lines)


def publish(results):
    """Writes the table into the docs page, and results and plots beside the programs."""
    RESULTS.mkdir(exist_ok=True)
    (RESULTS / "compare.json").write_text(json.dumps(results, indent=1, ensure_ascii=False) + "\n")
    for name, drawing in plots.of_comparison(results).items():
        (RESULTS / f"{name}.svg").write_text(drawing)
    page = PAGE.read_text()
    begin, end = page.index(BEGIN) + len(BEGIN), page.index(END)
    PAGE.write_text(with_goals(page[:begin]) + "\n\n" + markdown(results) + "\n\n" + page[end:])


def with_goals(page):
    """The page with the table of all goals."""
    begin = page.index(HEAD) + len(HEAD)
    end = page.index("\n\n", begin) + 1
    return page[:begin] + "".join(f"| {goal} | {asked} |\n" for goal, asked in GOALS.items()) + page[end:]
