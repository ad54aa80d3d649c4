"""What was found, as a table for people, in the docs page and in the results directory."""
import json
import re
import statistics

from driver import plots
from driver.cases import median, ratios, short
from driver.running import BENCH, ROOT

PAGE = ROOT / "Sources" / "Evstore" / "Evstore.docc" / "Benchmarks.md"
RESULTS = BENCH / "results"
BEGIN, END = "<!-- measured by tools/bench/compare --report: begin -->", "<!-- measured by tools/bench/compare --report: end -->"


def spread(figure, mark=""):
    middle, low, high = figure
    return f"{short(middle)}{mark}" + (f" ({short(low)} to {short(high)})" if low != high else "")


def figure(found, unit):
    """The median, and of appends how long a caller waited: half of them, all but one of a hundred, the longest."""
    text = f"{short(median(found))} {unit}"
    if unit == "events/s" and all("p50" in each for each in found["rounds"]):
        middle = [short(statistics.median(each[name] for each in found["rounds"])) for name in ("p50", "p99", "max")]
        text += f" ({middle[0]} / {middle[1]} / {middle[2]} µs)"
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
        "Behind a rate of appends, in microseconds: the median wait, the 99th of 100, the longest.")


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
    PAGE.write_text(page[:begin] + "\n\n" + markdown(results) + "\n\n" + page[end:])
