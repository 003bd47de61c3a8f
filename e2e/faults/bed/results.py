# SPDX-License-Identifier: Apache-2.0
"""results: a line per cycle, a table per fault."""
import collections
import json
import os
import statistics
import sys
import time


def ms(value):
    return "-" if value is None else f"{value:.0f}"


def quantile(values, q):
    values = sorted(value for value in values if value is not None)
    return values[min(len(values) - 1, int(q * len(values)))] if values else None


class Results:
    def __init__(self, options):
        self.options = options
        self.rows = collections.defaultdict(list)  # by name of the case
        self.passed = self.failed = self.skipped = 0
        self.broken, self.evidence = False, ""
        self.cases = {}

    def add(self, case, cycle):
        figures = cycle.figures
        ok = not cycle.problems
        self.passed += ok
        self.failed += not ok
        self.cases[case.name] = case
        self.rows[case.name].append((ok, figures))
        print(
            f"  {'ok' if ok else 'FAILED':6} {cycle.number:4} {case.name:28} direct {ms(figures['direct']):>6} ms  service {ms(figures['service']):>6} ms"
            f"  open {ms(figures['open']):>6} ms  healthy {figures.get('healthy', 0):5.1f} s  rows {figures.get('acknowledged', 0):6}"
            f"  lost {figures['lost']}  twice {figures['twice']}  two open {figures['double_open']:.0f} ms"
        )
        for problem in cycle.problems:
            print(f"         | {problem}")
        sys.stdout.flush()
        self._write_raw(case, cycle, ok)

    def _write_raw(self, case, cycle, ok):
        if not self.options.raw:
            return
        line = {
            "flavour": self.options.flavour, "mode": self.options.mode, "ok": ok, "problems": cycle.problems, "expect": cycle.expect,
            "load": os.getloadavg()[0], "ended": time.time(), **cycle.figures,
        }
        with open(self.options.raw, "a", encoding="utf-8") as file:
            file.write(json.dumps(line) + "\n")

    def skip(self, case, number, reason):
        self.skipped += 1
        print(f"  SKIPPED {number:3} {case.name:28} {reason}", flush=True)

    def print_table(self):
        print(f"\n{self.options.flavour}, {self.options.mode}. Outages in ms: from the fault to the first acknowledged write after it; no failover expected: the longest pause.\n")
        print("| fault | tries | expected | cycles | failed | acknowledged rows | lost | two open | direct p50 / p90 / p99 | Service p50 / p90 / p99 | healthy p50 s |")
        print("| --- | --- | --- | ---: | ---: | ---: | ---: | ---: | --- | --- | ---: |")
        for name, rows in self.rows.items():
            case, figures = self.cases[name], [each for _, each in rows]
            direct, service = ([each[key] for each in figures] for key in ("direct", "service"))
            spread = [" / ".join(ms(quantile(values, q)) for q in (0.5, 0.9, 0.99)) for values in (direct, service)]
            healthy = [each["healthy"] for each in figures if "healthy" in each]
            print(
                f"| {name} | {case.invariants} | {case.expect} | {len(rows)} | {sum(not ok for ok, _ in rows)} | {sum(each.get('acknowledged', 0) for each in figures)}"
                f" | {sum(each['lost'] for each in figures)} | {sum(each['double_open'] > 0 for each in figures)} | {spread[0]} | {spread[1]}"
                f" | {statistics.median(healthy) if healthy else 0:.1f} |"
            )

    def finish(self):
        if self.rows:
            self.print_table()
        if self.evidence:
            print(f"\nevidence of failed cycles: {self.evidence}")
        print(f"\nfaults: {self.passed} passed, {self.failed} failed, {self.skipped} skipped{', cut short' if self.broken else ''}")
        if self.options.results:
            with open(self.options.results, "a", encoding="utf-8") as file:
                file.write(f"faults {self.passed} {self.failed + self.broken} {self.skipped}\n")
        return 1 if self.failed or self.broken else 0
