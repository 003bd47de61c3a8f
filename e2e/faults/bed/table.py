#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""table.py FILE…: one table per flavour and mode of what FAULTS_RAW left of any number of runs. See docs/faults.md."""
import collections
import json
import signal
import sys

from results import ms, quantile

FLAVOURS = {"mariadb": "MariaDB", "mysql": "MySQL"}


def read(paths):
    """By flavour and mode, in the order in which cases came first: by name, the cycles."""
    tables = collections.defaultdict(lambda: collections.defaultdict(list))
    for path in paths:
        with open(path, encoding="utf-8") as file:
            for line in file:
                cycle = json.loads(line)
                tables[cycle["flavour"], cycle["mode"]][cycle["case"]].append(cycle)
    return tables


def spread(cycles, key):
    values = [cycle[key] for cycle in cycles]
    return " / ".join(ms(quantile(values, q)) for q in (0.5, 0.9, 0.99, 1))


def lost_unsaid(cycles):
    return sum(cycle["lost"] for cycle in cycles if any(problem.startswith("I3") for problem in cycle["problems"]))


def print_row(name, cycles):
    expects = "/".join(sorted({cycle["expect"] for cycle in cycles}))
    failed = sum(not cycle["ok"] for cycle in cycles)
    rows = sum(cycle.get("acknowledged", 0) for cycle in cycles)
    announced = sum(cycle["lost"] for cycle in cycles) - lost_unsaid(cycles)
    lost = f"{lost_unsaid(cycles)}{f' ({announced} announced)' if announced else ''}"
    print(f"| {name} | {expects} | {len(cycles)} | {len(cycles) - failed} | {failed} | {rows} | {lost} | {spread(cycles, 'service')} |")


PHASES = ("decidedMs", "fencedMs", "openedMs", "publishedMs")


def print_phases(cases):
    """Milliseconds from the last write that anybody has told of, as the status records them."""
    told = {name: [cycle["phases"] for cycle in cycles if cycle.get("phases")] for name, cycles in cases.items()}
    if not any(told.values()):
        return
    print("\n| fault | failovers | decided, ms: p50 / p90 | fenced | opened | published |")
    print("| --- | ---: | --- | --- | --- | --- |")
    for name in sorted(name for name in told if told[name]):
        columns = ([phases[key] for phases in told[name] if key in phases] for key in PHASES)
        cells = (" / ".join(ms(quantile(values, q)) for q in (0.5, 0.9)) for values in columns)
        print(f"| {name} | {len(told[name])} | {' | '.join(cells)} |")


def main():
    for (flavour, mode), cases in read(sys.argv[1:]).items():
        everything = [cycle for cycles in cases.values() for cycle in cycles]
        load = [cycle["load"] for cycle in everything]
        print(f"\n{FLAVOURS[flavour]}, {mode}; load average {quantile(load, 0.1):.1f} to {quantile(load, 0.9):.1f} (p10, p90)\n")
        print("| fault | expected | cycles | passed | failed | acknowledged rows | lost | outage through the Service, ms: p50 / p90 / p99 / max |")
        print("| --- | --- | ---: | ---: | ---: | ---: | ---: | --- |")
        for name in sorted(cases):
            print_row(name, cases[name])
        print(f"| all | | {len(everything)} | {sum(cycle['ok'] for cycle in everything)} | {sum(not cycle['ok'] for cycle in everything)}"
              f" | {sum(cycle.get('acknowledged', 0) for cycle in everything)} | {lost_unsaid(everything)} | |")
        print_phases(cases)


if __name__ == "__main__":
    signal.signal(signal.SIGPIPE, signal.SIG_DFL)
    main()
