#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""overlap_table.py FILE…: sums of what FAULTS_RAW left of rounds of overlapping faults, by family, number of members and commit; then each round that failed.
With --next SEED before the files: the first seed from that one on that is after all that they have."""
import collections
import json
import signal
import sys

from results import quantile
from table import FLAVOURS


def read(paths):
    for path in paths:
        with open(path, encoding="utf-8") as file:
            yield from (json.loads(line) for line in file)


def seconds(values, q):
    found = quantile(values, q)
    return "-" if found is None else f"{found:.0f}"


def print_sums(rounds):
    print("| family | members | commit | rounds | failed | faults | rows acknowledged | lost | twice | table statements | dead ends | without writes, s: p50 / p90 / max | healed, s: p50 / max | load: p10 / p90 |")
    print("| --- | ---: | --- | ---: | ---: | ---: | ---: | ---: | ---: | ---: | ---: | --- | --- | --- |")
    groups = collections.defaultdict(list)
    for each in rounds:
        groups[each["flavour"], each["members"], each["commit"]].append(each)
    for (flavour, members, commit), group in sorted(groups.items()):
        pauses = [each["pause_ms"] / 1000 for each in group if each["pause_ms"] is not None]
        healed, loads = [each["healed_s"] for each in group], [each["load"] for each in group]
        total = {key: sum(each[key] for each in group) for key in ("faults", "rows", "lost", "twice", "tables")}
        print(
            f"| {FLAVOURS[flavour]} | {members} | {commit} | {len(group)} | {sum(not each['ok'] for each in group)} | {total['faults']} | {total['rows']} | {total['lost']}"
            f" | {total['twice']} | {total['tables']} | {sum(bool(each['dead_end']) for each in group)} | {' / '.join(seconds(pauses, q) for q in (0.5, 0.9, 1))}"
            f" | {seconds(healed, 0.5)} / {seconds(healed, 1)} | {seconds(loads, 0.1)} / {seconds(loads, 0.9)} |"
        )


def print_failed(rounds):
    for each in rounds:
        if not each["ok"]:
            print(f"\n{each['began']} {each['flavour']}, {each['members']} members, seed {each['seed']}, commit {each['commit']}")
            for problem in each["problems"]:
                print(f"  | {problem[:400]}")


def main():
    words = sys.argv[1:]
    if words[:1] == ["--next"]:
        print(max([int(words[1])] + [each["seed"] + 1 for each in read(words[2:])]))
        return
    rounds = list(read(words))
    print_sums(rounds)
    print_failed(rounds)


if __name__ == "__main__":
    signal.signal(signal.SIGPIPE, signal.SIG_DFL)
    main()
