"""What a comparison is made of: cases, in which several do the same work, and what came of them."""
import dataclasses
import statistics
import typing

from driver.running import Failed, Missing, say


@dataclasses.dataclass
class Entry:
    """One that takes part: its name, what it is asked to do, and how that is measured (a dictionary with `value`)."""
    who: str
    asked: str
    measure: typing.Callable[[], dict]


@dataclasses.dataclass
class Target:
    """What a goal asks: ours against another's, or (without `against`) a limit of ours alone."""
    text: str
    against: str | None
    bound: float
    least: bool = True

    def holds(self, figure):
        return figure >= self.bound if self.least else figure <= self.bound


@dataclasses.dataclass
class Case:
    goal: str
    name: str
    unit: str
    entries: list
    targets: list = dataclasses.field(default_factory=list)
    us: str = "evstore"
    # How many times it is measured at most.
    rounds_max: int = 100


def measure(case, rounds):
    """Lets all take turns, in alternating order, so that the machine's moods meet each of them."""
    found = {entry.who: {"asked": entry.asked, "rounds": []} for entry in case.entries}
    for number in range(min(rounds, case.rounds_max)):
        for entry in case.entries if number % 2 == 0 else reversed(case.entries):
            result = found[entry.who]
            if "missing" in result:
                continue
            try:
                result["rounds"].append(entry.measure())
            except (Missing, Failed) as failure:
                result["missing"] = str(failure)
                say(f"  {entry.who}: not measured: {failure}")
    say(f"{case.goal} {case.name}: " + ", ".join(
        f"{who} {short(median(result))} {case.unit}" for who, result in found.items() if result["rounds"]))
    return {"goal": case.goal, "case": case.name, "unit": case.unit, "us": case.us, "found": found, "verdicts": verdicts(case, found)}


def median(result):
    values = [r["value"] for r in result["rounds"]]
    return statistics.median(values) if values else None


def ratios(found, us, other):
    """Ours over another's, round by round: median, smallest, largest."""
    pairs = zip(found[us]["rounds"], found[other]["rounds"])
    each = [ours["value"] / theirs["value"] for ours, theirs in pairs if theirs["value"]]
    return (statistics.median(each), min(each), max(each)) if each else None


def verdicts(case, found):
    """For every target: the figure that was found, its spread and whether it is met; nothing where it was not measured."""
    said = []
    for target in case.targets:
        row = {"text": target.text, "against": target.against, "bound": target.bound, "least": target.least}
        if target.against is None:
            values = [r["value"] for r in found[case.us]["rounds"]]
            figure = (statistics.median(values), min(values), max(values)) if values else None
        else:
            figure = ratios(found, case.us, target.against) if target.against in found else None
        if figure:
            row |= {"figure": figure, "met": target.holds(figure[0])}
        said.append(row)
    return said


def short(number):
    """A figure as people read it."""
    if number is None:
        return "–"
    if abs(number) >= 1_000_000:
        return f"{number / 1_000_000:.2f} M"
    if abs(number) >= 1_000:
        return f"{number:,.0f}"
    return f"{number:.3g}"
