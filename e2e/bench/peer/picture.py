#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""picture: what peer.sh measured, as an SVG. picture.py FOLDER server|pod FILE.svg

Of each system the round is drawn whose longest time without a commit is the median: how many commits were acknowledged in each slice of time
around the kill, all systems on one axis. FOLDER holds what peer.sh leaves there: `rounds`, `names`, and SYSTEM.ROUND.acks, the milliseconds of
each acknowledgement. No fonts and no scripts; the colours of text and background change together with the reader's scheme.
"""
import pathlib
import statistics
import sys
from html import escape

WIDTH, LEFT, RIGHT = 860, 24, 24
TOP, ROW, BARS = 66, 116, 56  # the first row's top, a row's height, the height of its tallest bar
BAR_PIXELS = 3
BEFORE_S, AFTER_S = 2.0, 3.0  # shown before the kill, and after the longest gap
STEPS_S = (0.5, 1, 2, 5, 10, 20, 30, 60)
KILLED = {"server": "server of the primary is killed (SIGKILL)", "pod": "pod of the primary is deleted without grace"}
COLOURS = {"ours": "#1a7f64", "peer": "#8250df"}
STYLE = """
  text { font: 13px -apple-system, "Segoe UI", Helvetica, Arial, sans-serif; fill: #1f2328 }
  .title { font-size: 15px; font-weight: 600 } .name { font-weight: 600 } .gap { font-weight: 700 }
  .quiet { fill: #59636e; font-size: 12px }
  .card { fill: #ffffff; stroke: #d1d9e0 } .line { stroke: #afb8c1 } .kill { stroke: #d1242f; stroke-width: 1.5 }
  .pause { fill: #d1242f; fill-opacity: 0.12 }
  @media (prefers-color-scheme: dark) {
    text { fill: #f0f6fc } .quiet { fill: #9198a1 } .card { fill: #0d1117; stroke: #3d444d } .line { stroke: #3d444d }
    .kill { stroke: #ff7b72 } .pause { fill: #ff7b72; fill-opacity: 0.2 } .peer { fill: #ab7df8 } .ours { fill: #2da07f }
  }
"""


class Round:
    """One line of `rounds`: system, number, kill, longest gap, its begin, and what does not matter here. Milliseconds."""

    def __init__(self, line):
        words = line.split()
        self.system, self.number = words[0], words[1]
        self.kill, self.gap, self.begin = (int(word) for word in words[2:5])


def seconds(ms):
    return f"{ms / 1000:.2f} s" if ms < 9995 else f"{ms / 1000:.1f} s"


def median_round(rounds):
    """The round that stands in the middle: the lower one of two, as the figure printed by peer.sh."""
    return sorted(rounds, key=lambda r: r.gap)[(len(rounds) - 1) // 2]


class Axis:
    """From seconds after the kill to pixels."""

    def __init__(self, until):
        self.until = until
        self.scale = (WIDTH - LEFT - RIGHT) / (BEFORE_S + until)
        self.step = next((step for step in STEPS_S if (BEFORE_S + until) / step <= 14), STEPS_S[-1])

    def x(self, s):
        return LEFT + (s + BEFORE_S) * self.scale

    def ticks(self):
        first = -int(BEFORE_S / self.step)
        return [n * self.step for n in range(first, int(self.until / self.step) + 1)]


def bars(axis, acks, kill, top, system):
    """A bar for each slice of the axis in which commits were acknowledged."""
    slice_s = BAR_PIXELS / axis.scale
    counts = {}
    for ack in acks:
        s = (ack - kill) / 1000
        if -BEFORE_S <= s < axis.until:
            n = int((s + BEFORE_S) / slice_s)
            counts[n] = counts.get(n, 0) + 1
    if not counts:
        return []
    most = max(statistics.quantiles(counts.values(), n=50)[-1] if len(counts) > 1 else 1, 1)
    path = []
    for n, count in sorted(counts.items()):
        height = BARS * min(count / most, 1)
        path.append(f"M{LEFT + n * BAR_PIXELS} {top + BARS}v-{height:.1f}h{BAR_PIXELS}v{height:.1f}z")
    return [f'<path class="{system}" fill="{COLOURS[system]}" d="{"".join(path)}"/>']


def row(axis, system, name, rounds, folder, top):
    drawn = median_round(rounds)
    acks = [int(line) for line in (folder / f"{system}.{drawn.number}.acks").read_text().split()]
    begin = (drawn.begin - drawn.kill) / 1000
    end = begin + drawn.gap / 1000
    bar_top = top + 26
    gaps = [r.gap for r in rounds]
    return [
        f'<text class="name" x="{LEFT}" y="{top + 14}">{escape(name)}</text>',
        f'<text class="quiet" x="{WIDTH - RIGHT}" y="{top + 14}" text-anchor="end">median of {len(gaps)}: {seconds(drawn.gap)}, longest {seconds(max(gaps))}</text>',
        f'<rect class="pause" x="{axis.x(begin):.1f}" y="{bar_top - 6}" width="{max(drawn.gap / 1000 * axis.scale, 1):.1f}" height="{BARS + 6}"/>',
        *bars(axis, acks, drawn.kill, bar_top, system),
        f'<path class="line" d="M{LEFT} {bar_top + BARS}.5H{WIDTH - RIGHT}"/>',
        f'<path class="kill" d="M{axis.x(0):.1f} {bar_top - 6}v{BARS + 6}"/>',
        *gap_label(axis, begin, end, bar_top, seconds(drawn.gap)),
    ]


def gap_label(axis, begin, end, bar_top, text):
    """In the gap where it fits, else below the axis, under the gap."""
    words = f"{text} without a commit"
    if (end - begin) * axis.scale > 170:
        middle = axis.x((begin + end) / 2)
        return [f'<text class="gap" x="{middle:.1f}" y="{bar_top + BARS / 2 + 4}" text-anchor="middle">{words}</text>']
    return [f'<text class="gap" x="{axis.x(begin):.1f}" y="{bar_top + BARS + 17}">{words}</text>']


def picture(folder, kill):
    names = dict(line.split(" ", 1) for line in (folder / "names").read_text().splitlines())
    by_system = {}
    for line in (folder / "rounds").read_text().splitlines():
        by_system.setdefault(line.split()[0], []).append(Round(line))
    axis = Axis(max(median_round(rounds).gap for rounds in by_system.values()) / 1000 + AFTER_S)
    height = TOP + ROW * len(by_system) + 34
    bottom = TOP + ROW * len(by_system)
    out = [
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {WIDTH} {height}" width="{WIDTH}" height="{height}" role="img">',
        f"<title>Commits acknowledged around the moment at which the {KILLED[kill]}</title>",
        f"<style>{STYLE}</style>",
        f'<rect class="card" x="0.5" y="0.5" width="{WIDTH - 1}" height="{height - 1}" rx="8"/>',
        f'<text class="title" x="{LEFT}" y="28">Commits acknowledged to one writer, through the Service for writes</text>',
        f'<text class="quiet" x="{LEFT}" y="48">at 0 the {KILLED[kill]}</text>',
    ]
    for n, (system, rounds) in enumerate(by_system.items()):
        out += row(axis, system, names[system], rounds, folder, TOP + n * ROW)
    for tick in axis.ticks():
        label = f"{tick:+g} s" if tick else "0"
        out.append(f'<path class="line" d="M{axis.x(tick):.1f} {bottom}v5"/>')
        out.append(f'<text class="quiet" x="{axis.x(tick):.1f}" y="{bottom + 20}" text-anchor="middle">{label}</text>')
    return "\n".join(out) + "\n</svg>\n"


def main():
    if len(sys.argv) != 4 or sys.argv[2] not in KILLED:
        sys.exit(__doc__.splitlines()[0])
    target = pathlib.Path(sys.argv[3])
    target.parent.mkdir(parents=True, exist_ok=True)
    target.write_text(picture(pathlib.Path(sys.argv[1]), sys.argv[2]))


if __name__ == "__main__":
    main()
