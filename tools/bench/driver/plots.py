"""Plots as SVG, by hand: lines over two logarithmic axes."""
import html
import math
import re

from driver.cases import median

WIDTH, HEIGHT, LEFT, RIGHT, TOP, BOTTOM = 820, 440, 80, 240, 44, 56
# Told apart also by those who see few colours (Okabe and Ito); ours is the first, and drawn thicker.
COLOURS = ["#0072b2", "#000000", "#e69f00", "#d55e00", "#cc79a7", "#009e73", "#56b4e9", "#8c6d31"]


def ticks(low, high):
    """Powers of ten around a range."""
    return [10.0**n for n in range(math.floor(math.log10(low) + 1e-9), math.ceil(math.log10(high) - 1e-9) + 1)]


def lines(title, x_name, y_name, series):
    """A drawing of `series`: a name for each list of (x, y), all above zero."""
    points = [(x, y) for each in series.values() for x, y in each if x > 0 and y > 0]
    if not points:
        return None
    xs, ys = ticks(min(x for x, _ in points), max(x for x, _ in points)), ticks(min(y for _, y in points), max(y for _, y in points))
    xs, ys = (xs if len(xs) > 1 else [xs[0], xs[0] * 10]), (ys if len(ys) > 1 else [ys[0], ys[0] * 10])

    def place(value, marks, start, end):
        share = (math.log10(value) - math.log10(marks[0])) / (math.log10(marks[-1]) - math.log10(marks[0]))
        return round(start + share * (end - start), 1)

    def across(x):
        return place(x, xs, LEFT, WIDTH - RIGHT)

    def up(y):
        return place(y, ys, HEIGHT - BOTTOM, TOP)

    drawn = [
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {WIDTH} {HEIGHT}" font-family="sans-serif" font-size="12" role="img">',
        f"<title>{html.escape(title)}</title>", f'<rect width="{WIDTH}" height="{HEIGHT}" fill="#ffffff"/>',
        f'<text x="{LEFT}" y="22" font-size="15" fill="#111111">{html.escape(title)}</text>',
    ]
    for x in xs:
        drawn.append(f'<path d="M{across(x)} {TOP}V{HEIGHT - BOTTOM}" stroke="#dddddd"/>')
        drawn.append(f'<text x="{across(x)}" y="{HEIGHT - BOTTOM + 18}" text-anchor="middle" fill="#444444">{axis_number(x)}</text>')
    for y in ys:
        drawn.append(f'<path d="M{LEFT} {up(y)}H{WIDTH - RIGHT}" stroke="#dddddd"/>')
        drawn.append(f'<text x="{LEFT - 8}" y="{up(y) + 4}" text-anchor="end" fill="#444444">{axis_number(y)}</text>')
    middle = (LEFT + WIDTH - RIGHT) / 2
    drawn.append(f'<text x="{middle}" y="{HEIGHT - 14}" text-anchor="middle" fill="#111111">{html.escape(x_name)}</text>')
    drawn.append(f'<text x="{LEFT}" y="{TOP - 8}" text-anchor="end" fill="#111111">{html.escape(y_name)}</text>')
    for index, (name, each) in enumerate(series.items()):
        each = sorted((x, y) for x, y in each if x > 0 and y > 0)
        if not each:
            continue
        colour, width = COLOURS[index % len(COLOURS)], 3 if index == 0 else 1.5
        path = "L".join(f"{across(x)} {up(y)}" for x, y in each)
        drawn.append(f'<path d="M{path}" fill="none" stroke="{colour}" stroke-width="{width}"/>')
        drawn += [f'<circle cx="{across(x)}" cy="{up(y)}" r="{width + 1}" fill="{colour}"/>' for x, y in each]
        line = TOP + 12 + index * 20
        drawn.append(f'<path d="M{WIDTH - RIGHT + 16} {line - 4}h18" stroke="{colour}" stroke-width="{width}"/>')
        drawn.append(f'<text x="{WIDTH - RIGHT + 40}" y="{line}" fill="#111111">{html.escape(name)}</text>')
    return "\n".join(drawn + ["</svg>", ""])


def axis_number(value):
    if value >= 1e9:
        return f"{value / 1e9:g} G"
    if value >= 1e6:
        return f"{value / 1e6:g} M"
    return f"{value / 1e3:g} k" if value >= 1e3 else f"{value:g}"


def of_comparison(results):
    """The plots that a comparison gives, by file name."""
    appends = {}
    for case in results["cases"]:
        writers = re.match(r"durable append, (\d+) writer", case["case"])
        for who, found in case["found"].items():
            if writers and found["rounds"]:
                appends.setdefault(who, []).append((int(writers.group(1)), median(found)))
    drawings = {"appends": lines("Durable appends of one event", "writers", "events/s", {k: v for k, v in appends.items() if len(v) > 1})}
    return {name: drawing for name, drawing in drawings.items() if drawing}
