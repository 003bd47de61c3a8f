# SPDX-License-Identifier: Apache-2.0
"""told: what the status says of a change of primaries, beside the gap that the writers had."""
import json
import sys

from results import quantile

PAUSE_WINDOW_NS = 2_000_000_000  # the writers' own interval: their longest pause in so long before the fault
RETRY_MS = 3  # fault_writer.c: RETRY_PAUSE_US


def told_of(status, before):
    """The change that ended since `before`, a status of then; None: there was none."""
    changes = [status.get(key) for key in ("lastFailover", "lastSwitchover") if status.get(key) and status.get(key) != before.get(key)]
    ended = [change for change in changes if change["finishedAt"] not in [(before.get(key) or {}).get("finishedAt") for key in ("lastFailover", "lastSwitchover")]]
    return max(ended, key=lambda change: change["finishedAt"], default=None)


def gap(acks, fault_ns):
    """Of all writers together, in ms: from the last acknowledgement of the old primary to the first one of another server, the writers' own
    interval, and how long the first of them took to be there again. None: nobody else acknowledged."""
    order = sorted(acks, key=lambda each: each.end)
    before = [each for each in order if each.end <= fault_ns]
    if not before:
        return None
    old = before[-1].server
    first = next((each for each in order if each.end > fault_ns and each.server != old), None)
    if not first:
        return None
    last = max(each.end for each in order if each.server == old and each.end <= first.end)
    ends = [each.end for each in before if each.end > fault_ns - PAUSE_WINDOW_NS]
    return {
        "gap": (first.end - last) / 1e6,
        "interval": max((later - earlier for earlier, later in zip(ends, ends[1:])), default=0) / 1e6,
        "reconnect": (first.end - first.start) / 1e6 + RETRY_MS,
    }


def compare(acks, fault_ns, status, before):
    """Of one cycle; None: no time was told, or there was no gap."""
    change, found = told_of(status, before), gap(acks, fault_ns)
    if not change or not found or "writesBlockedMs" not in change:
        return None
    found.update(told=change["writesBlockedMs"], uncertainty=change.get("uncertaintyMs"), until=change.get("writesBlockedUntil"), route=change.get("routeMs"))
    off = abs(found["gap"] - found["told"])
    found["inside"] = off <= (found["uncertainty"] or 0) + found["interval"] + found["reconnect"]
    return found


def read(paths):
    for path in paths:
        with open(path, encoding="utf-8") as file:
            yield from map(json.loads, file)


def ms(value):
    return "-" if value is None else f"{value:.0f}"


def print_cycle(flavour, cycle):
    told = cycle["told"]
    print(
        f"  {flavour:8} {cycle['case']:20} gap {ms(told['gap']):>6} ms  told {ms(told['told']):>6} ± {ms(told['uncertainty']):>4} ms"
        f"  route {ms(told['route']):>5} ms  interval {ms(told['interval']):>4}  reconnect {ms(told['reconnect']):>4}"
        f"  {'inside' if told['inside'] else 'OUTSIDE'}  until {told['until'] or '-'}"
    )


def main():
    """write_gap.py FILE…: each cycle of what FAULTS_RAW left, and a table by family and fault. Ends with 1 if a gap is outside of what was told."""
    tables, outside = {}, 0
    for cycle in read(sys.argv[1:]):
        if not cycle.get("told"):
            continue
        print_cycle(cycle["flavour"], cycle)
        tables.setdefault((cycle["flavour"], cycle.get("members", 3), cycle["case"]), []).append(cycle["told"])
    print("\n| family | members | fault | runs | gap, ms: p50 / max | told: p50 / max | uncertainty: max | route: p50 / max | off by: p50 / max | inside |")
    print("| --- | ---: | --- | ---: | --- | --- | ---: | --- | --- | ---: |")
    for (flavour, members, case), all_told in sorted(tables.items()):
        def spread(values):
            return " / ".join(ms(quantile(values, q)) for q in (0.5, 1))
        uncertainty = max((each["uncertainty"] for each in all_told if each["uncertainty"] is not None), default=None)
        inside = sum(each["inside"] for each in all_told)
        outside += len(all_told) - inside
        print(
            f"| {flavour} | {members} | {case} | {len(all_told)} | {spread([each['gap'] for each in all_told])} | {spread([each['told'] for each in all_told])}"
            f" | {ms(uncertainty)} | {spread([each['route'] for each in all_told])}"
            f" | {spread([abs(each['gap'] - each['told']) for each in all_told])} | {inside} of {len(all_told)} |"
        )
    return 1 if outside else 0


if __name__ == "__main__":
    sys.exit(main())
