#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""alike.py FILE…: whether rounds of faults on real servers and the same rounds in the model end alike.

FILE is what FAULTS_RAW left of rounds of overlapping faults (e2e/faults/bed/run.sh, docs/faults.md). Each round becomes a schedule of the simulation: what was done
to whom, when, for how long. The moments within the seconds are the model's own, so it runs VARIATIONS (20) seeds of each. Alike is: where the real round ended
with an open primary, equal members and every acknowledged row, all of them do; where it did not, one of them ends in the same way at least. Then a sum of how many
primaries there were from the first fault on, one after the other, in the real rounds and in the model. BUILD (build).
"""
import json
import os
import re
import subprocess
import sys
import tempfile

FIRST_MS = 15000  # in the model the first faults may come when all members follow
OPERATORS = (6, 7)  # as places of the network (sim.h)
WITHOUT = {"member-slow"}  # late and lost packets: the model's links are either cut or not


def fault(kind, at, target="primary", seconds=0.0, **more):
    return {"kind": kind, "atMs": at, "target": target, "forMs": int(seconds * 1000), "other": 0, "number": 0, **more}


def members_in(text):
    return [int(number) for number in re.findall(r"-mysql-(\d+)", text)]


def cut_links(done, at, seconds):
    """"db-mysql-1 from db-mysql-0, db-mysql-2, out" """
    ones, rest = done.split(" from ")
    others, way = rest.rsplit(", ", 1)
    operators = list(OPERATORS) if "op-" in others else []
    if "op-" in ones and "api" in others:
        return [fault("apiAway", at, "0", seconds)]
    kind = "linkCut" if way == "both" else "linkOneWay"
    pairs = [(one, other) for one in members_in(ones) or list(OPERATORS) for other in members_in(others) + operators]
    made = []
    for one, other in pairs:
        first, second = (other, one) if way == "in" else (one, other)
        if first in OPERATORS:  # a link is told from its member's end
            first, second, kind = second, first, "linkCut"
        made.append(fault(kind, at, str(first), seconds, other=second))
    return made


def faults_of(chosen):
    """Of one fault of a real round."""
    kind, done, seconds = chosen["kind"], chosen["done"], chosen["seconds"]
    at = FIRST_MS + int(chosen["at_s"] * 1000)
    hit = members_in(done)
    first = str(hit[0]) if hit else "primary"
    simple = {
        "server-killed": "serverKilled", "server-frozen": "serverFrozen", "agent-killed": "agentKilled", "agent-frozen": "agentFrozen", "pod-deleted": "podDeleted",
        "pod-deleted-now": "podForced", "all-servers-killed": "allServersKilled", "operator-killed": "operatorKilled", "operator-frozen": "operatorFrozen",
        "api-away": "apiAway", "switchover": "switchover", "roll": "roll",
    }
    if kind in simple:
        return [fault(simple[kind], at, first, seconds)]
    if kind == "killed-and-successor":
        return [fault("serverKilled", at, first)] + [fault("serverKilled", at, "to", when="chosen", afterMs=50)] * (len(hit) > 1)
    if kind == "node-crashed":  # the host's page cache stays: nothing that was written is lost
        return [one for number in hit for one in (fault("memberCut", at, str(number), seconds), fault("podForced", at, str(number)))]
    if kind == "node-frozen":
        return [one for number in hit for one in (fault("memberFrozen", at, str(number), seconds), fault("memberCut", at, str(number), seconds))]
    if kind == "node-drained":
        return [fault("podDeleted", at, str(number)) for number in hit]
    if kind in ("member-cut", "replication-cut", "operators-cut"):
        return cut_links(done, at, seconds)
    if kind == "operators-and-primary-killed":
        return [fault("operatorsKilled", at, "0"), fault("serverKilled", at, first)]
    if kind == "scale":
        return [fault("scale", at, "0", 20, number=int(done.rsplit(" ", 1)[1]))]
    raise SystemExit(f"{kind}: no such fault in the model")


def renamed(each, real, model):
    """The real round's first primary is the model's."""
    names = {str(real): str(model), str(model): str(real)}
    return {**each, "target": names.get(each["target"], each["target"]), "other": int(names.get(str(each["other"]), each["other"]))}


def schedule(round_, seed, primary=None):
    """primary: the model's first one; None: no faults."""
    faults = []
    for chosen in round_["chosen"] if primary is not None else []:
        if "failed" not in chosen and chosen["kind"] not in WITHOUT:
            faults += [renamed(each, members_in(round_["first"])[0], primary) for each in faults_of(chosen)]
    faults.sort(key=lambda each: each["atMs"])
    return {"seed": seed, "family": round_["flavour"], "members": round_["members"], "semiSync": True, "slow": False, "strict": False, "faults": faults}


def real_end(figures):
    if figures["lost"] or figures["tables_lost"]:
        return "lost"
    if figures["twice"]:
        return "twice"
    if figures["dead_end"]:
        return "stuck"
    return "well" if figures["ok"] else "unequal"


def run_model(simulate, path, what):
    """How it ended, and every opening of a primary: at how many seconds, and who."""
    with open(path, "w", encoding="utf-8") as file:
        json.dump(what, file)
    answer = subprocess.run([simulate, "--story", "--keep-going", path], capture_output=True, text=True, check=False)
    if answer.returncode not in (0, 1):
        raise SystemExit(f"simulate ended with {answer.returncode}: {answer.stderr}{answer.stdout[-500:]}")
    found = re.search(rf"^{re.escape(path)}, seed \d+: (\w+): ", answer.stdout, re.M)
    opened = [(float(time), members_in(name)[0]) for time, name in re.findall(r"^ *([\d.]+)  (\S+) OPENS", answer.stdout, re.M)]
    return found.group(1) if found else "well", opened


def model_ends(simulate, round_, variations, folder):
    """The ends, and how many primaries there were from the first fault on, in the mean."""
    ends, primaries = [], 0
    for seed in range(1, variations + 1):
        path = os.path.join(folder, f"{seed}.json")
        _, calm = run_model(simulate, path, schedule(round_, seed))
        end, opened = run_model(simulate, path, schedule(round_, seed, calm[0][1]))
        ends.append(end)
        primaries += 1 + sum(one[1] != other[1] for one, other in zip(opened, opened[1:]))
    return ends, primaries / variations


def is_alike(real, ends):
    return all(end == "well" for end in ends) if real == "well" else real in ends


def main():
    simulate = os.path.join(os.environ.get("BUILD", "build"), "simulate")
    variations = int(os.environ.get("VARIATIONS", "20"))
    rounds, unlike, real_primaries, model_primaries = 0, 0, 0, 0.0
    with tempfile.TemporaryDirectory() as folder:
        for path in sys.argv[1:]:
            with open(path, encoding="utf-8") as file:
                for line in file:
                    round_ = json.loads(line)
                    if "first" not in round_:
                        continue  # it ended before its first fault
                    ends, primaries = model_ends(simulate, round_, variations, folder)
                    rounds += 1
                    real_primaries += round_["primaries"]
                    model_primaries += primaries
                    if not is_alike(real_end(round_), ends):
                        unlike += 1
                        print(f"{round_['flavour']}, {round_['members']} members, seed {round_['seed']}: {real_end(round_)} on real servers, in the model "
                              + ", ".join(f"{ends.count(end)} {end}" for end in sorted(set(ends))))
    print(f"{rounds} rounds, {variations} variations each: {rounds - unlike} end alike, {unlike} do not; primaries from the first fault on: {real_primaries} on real servers, "
          f"{model_primaries:.0f} in the model")
    return 1 if unlike or not rounds else 0


if __name__ == "__main__":
    sys.exit(main())
