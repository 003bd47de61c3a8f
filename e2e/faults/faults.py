# SPDX-License-Identifier: Apache-2.0
"""faults: the driver. See run.sh and docs/testing-faults.md."""
import argparse
import asyncio
import base64
import collections
import difflib
import json
import pathlib
import random
import signal
import ssl
import subprocess
import sys
import time
import urllib.parse

import stories
from faultproxy import Fault
from http11 import Upstream
from kubelet import Kubelet
from lane import Lane, LaneBroken
from world import World

DIFF_LINES = 60
TRIES = 3
UNSTEADY_MAX = 3  # cases of a run that may fail once: they are told in full and tried again, in a new lane; who fails twice has failed
AFTERLIFE_WRITES = 150  # see without_afterlife: as fast as the garbage collector takes, until the word of the deletion is there


class Rig:
    """What all lanes share."""

    def __init__(self, options):
        self.folder = pathlib.Path(options.work)
        self.operator = pathlib.Path(options.operator).resolve()
        self.upstream = self._connect(options.kubeconfig)  # for the operators
        self.api = self._connect(options.kubeconfig)  # for everybody else
        self.world = World(self.api)
        self.kubelet = Kubelet(self.api, self.world, self.folder)
        self.number = 0
        self.lanes = set()

    def _connect(self, path):
        text = subprocess.run(["kubectl", "--kubeconfig", path, "config", "view", "--raw", "-o", "json"], check=True, capture_output=True).stdout
        config = json.loads(text)
        cluster, user = config["clusters"][0]["cluster"], config["users"][0]["user"]

        def pem(holder, key):
            if key in holder:
                return holder[key]
            name = self.folder / key
            name.write_bytes(base64.b64decode(holder[key + "-data"]))
            return str(name)

        tls = ssl.create_default_context(cafile=pem(cluster, "certificate-authority"))
        tls.load_cert_chain(pem(user, "client-certificate"), pem(user, "client-key"))
        url = urllib.parse.urlsplit(cluster["server"])
        return Upstream(url.hostname, url.port, tls)

    async def start(self):
        answer = await self.api.request(
            "POST", "/apis/kubemysql.dev/v1alpha1/mysqlconfigs", {"content-type": "application/json"}, json.dumps(stories.CONFIG).encode()
        )
        if answer.status not in (201, 409):
            raise LaneBroken(f"MysqlConfig: {answer.status} {answer.body!r}")
        await self.world.start()
        await self.kubelet.start()

    async def new_lane(self, story, slow=False):
        self.number += 1
        lane = Lane(self, story, self.number, slow)
        self.lanes.add(lane)
        await lane.start()
        for step in stories.STORIES[story][0]:
            problems, _ = await lane.run(step)
            if problems:
                raise LaneBroken(f"{story}/{step.name} undisturbed: {problems} {lane.log_tail()}", lane)
        return lane

    async def end_lane(self, lane):
        """Returns what its operator had to say at the end."""
        await lane.close()
        self.lanes.discard(lane)
        return ([lane.ended_badly] if lane.ended_badly else []) + lane.log_problems()

    def stop(self):
        for lane in self.lanes:
            lane.abort()
        self.kubelet.stop()
        self.world.stop()


def without_afterlife(counts):
    """An operator that has not yet heard of its cluster's deletion puts back what the garbage collector takes. It carries the dead owner's
    uid, so the collector takes it again: pairs of creations and deletions do not count."""
    counts = collections.Counter(counts)
    for what in [what for what in counts if what.startswith("created ")]:
        counts["deleted" + what[len("created"):]] -= counts.pop(what)
    return counts


class Run:
    """All cases of all stories, and what came of them."""

    def __init__(self, rig, options):
        self.rig, self.options = rig, options
        self.passed, self.failed, self.skipped = 0, 0, 0
        self.table = collections.defaultdict(lambda: [0, 0, 0, 0, 0])
        self.tries = collections.Counter()
        self.unsteady = set()
        self.end = time.monotonic() + options.seconds
        self.baselines = {}
        self.queues = {}

    # ---- reports ----

    def report(self, story, step, fault, key, verdict, lines=()):
        index = {"ok": 0, "FAILED": 1, "SKIPPED": 2, "not met": 3, "UNSTEADY": 4}[verdict]
        self.table[(story, step, fault)][index] += 1
        self.passed += index == 0
        self.failed += index == 1
        self.skipped += index == 2
        if verdict in ("FAILED", "SKIPPED", "UNSTEADY") or self.options.verbose:
            print(f"  {verdict:8} {step:12} {fault:11} {key}")
        for line in lines:
            print(f"          | {line}")
        sys.stdout.flush()

    def print_table(self):
        print(f"\n  {'story':8} {'step':12} {'fault':11} {'passed':>6} {'failed':>6} {'skipped':>7} {'not met':>7} {'unsteady':>8}")
        for (story, step, fault), counts in sorted(self.table.items()):
            print(f"  {story:8} {step:12} {fault:11} {counts[0]:6} {counts[1]:6} {counts[2]:7} {counts[3]:7} {counts[4]:8}")

    def may_try_again(self, what, lane):
        """A broken invariant, a crash and a sanitizer's word are final."""
        grave = lane.ended_badly or lane.log_problems() or self.rig.kubelet.fleet(lane.namespace).problem
        again = not grave and what not in self.unsteady and len(self.unsteady) < UNSTEADY_MAX
        self.unsteady.add(what)
        return again

    async def new_lane(self, story, slow=False):
        """Another one if the first one does not get so far."""
        try:
            return await self.rig.new_lane(story, slow)
        except LaneBroken as error:
            if not error.lane or not self.may_try_again((story, "lane"), error.lane):
                raise
            self.report(story, "-", "none", "a new lane", "UNSTEADY", [str(error)])
            error.lane.abort()
            return await self.rig.new_lane(story, slow)

    # ---- baselines ----

    async def learn(self, story):
        """Another lane if the first one fails."""
        verdict = await self.learn_once(story)
        return await self.learn_once(story) == "ok" if verdict == "UNSTEADY" else verdict == "ok"

    async def learn_once(self, story):
        """Two undisturbed rounds; the second is what others are compared with. Requests that only one of them made count too."""
        lane = await self.new_lane(story)
        circle = stories.STORIES[story][1]
        for turn in range(2):
            for step in circle:
                problems, seen = await lane.run(step)
                if self.options.list:
                    print(f"  {step.name}, undisturbed, in order:\n" + "".join(f"    {key}\n" for key in seen.keys), end="")
                before = self.baselines.get(step.name)
                if problems:
                    verdict = "UNSTEADY" if self.may_try_again((story, "learn"), lane) else "FAILED"
                    self.report(story, step.name, "none", f"undisturbed run {turn + 1}", verdict, problems + lane.log_tail())
                    lane.abort()
                    return verdict
                if before:
                    seen.keys = list(dict.fromkeys(before.keys + seen.keys))
                    seen.writes = max(before.writes, seen.writes)
                self.baselines[step.name] = seen
        for step in circle:
            self.report(story, step.name, "none", "undisturbed", "ok")
        problems = await self.rig.end_lane(lane)
        if problems:
            self.report(story, "end", "none", "undisturbed", "FAILED", problems)
        return "ok"

    @staticmethod
    def compare(step, baseline, seen):
        problems, counts = [], seen.counts
        if step.replicas is None:
            counts = without_afterlife(counts)
        if baseline.dump != seen.dump:
            diff = list(difflib.unified_diff(baseline.dump, seen.dump, "undisturbed", "this run", n=1, lineterm=""))
            problems += diff[:DIFF_LINES] + (["…"] if len(diff) > DIFF_LINES else [])
        for what in sorted(baseline.counts.keys() | counts.keys()):
            if baseline.counts[what] != counts[what]:
                problems.append(f"{what}: {counts[what]} times, undisturbed {baseline.counts[what]}")
        limit = baseline.writes * 3 + 20 + (AFTERLIFE_WRITES if step.replicas is None else 0)
        if seen.writes > limit:
            problems.append(f"{seen.writes} writes, undisturbed {baseline.writes}")
        return problems

    # ---- cases ----

    def wanted(self, step, fault, key):
        options = self.options
        chosen = options.story in (None, step.name) or options.story in stories.STORIES
        return chosen and (not options.fault or options.fault == fault) and (not options.key or options.key in key)

    def fill_queues(self, story):
        """Per step two queues: the quick cases and those that wait for time limits."""
        for step in stories.STORIES[story][1]:
            keys = self.baselines[step.name].keys
            full = self.options.full or bool(self.options.key)
            cases = [case for case in stories.cases_of(step, keys, full) if self.wanted(step, *case)]
            random.Random(step.name).shuffle(cases)
            for slow in (False, True):
                self.queues[(step.name, slow)] = collections.deque(case for case in cases if (case[0] in stories.SLOW) == slow)
            print(f"  {step.name}: {len(keys)} requests and events, {len(cases)} cases")
            if self.options.list:
                print("".join(f"    {fault:11} {key}\n" for fault, key in cases), end="")

    def work_left(self, story, slow):
        return any(self.queues[(step.name, slow)] for step in stories.STORIES[story][1])

    async def try_case(self, lane, story, step, case):
        """Returns whether the lane is still good."""
        fault = Fault(*case) if case else None
        problems, seen = await lane.run(step, self.baselines[step.name], fault)
        problems += lane.log_problems() + self.compare(step, self.baselines[step.name], seen)  # what is told in full may be long
        kind, key = case or ("none", "undisturbed")
        if problems:
            hit = [] if not fault or fault.hits else ["(the request did not come this time)"]
            again = self.may_try_again((step.name, case), lane)
            self.report(story, step.name, kind, key, "UNSTEADY" if again else "FAILED", hit + problems + lane.log_tail())
            if again and case:
                self.queues[(step.name, case[0] in stories.SLOW)].append(case)
            return False
        if fault and not fault.hits:
            self.not_met(story, step, case)
        elif fault:
            self.report(story, step.name, kind, key, "ok")
        return True

    def not_met(self, story, step, case):
        """The request did not come this time (a status was written once less, say): another try, later."""
        self.tries[(step.name, case)] += 1
        if self.tries[(step.name, case)] < TRIES:
            self.queues[(step.name, case[0] in stories.SLOW)].append(case)
        else:
            self.report(story, step.name, *case, "not met")

    async def go_round(self, story, slow):
        """One lane after another until the queues are empty or the time is over."""
        while self.work_left(story, slow) and time.monotonic() < self.end:
            lane = await self.new_lane(story, slow)
            good = True
            while good and self.work_left(story, slow) and time.monotonic() < self.end:
                for step in stories.STORIES[story][1]:
                    queue = self.queues[(step.name, slow)]
                    good = await self.try_case(lane, story, step, queue.popleft() if queue else None)
                    if not good:
                        break
            if not good:
                lane.abort()
                continue
            problems = await self.rig.end_lane(lane)
            if problems:
                self.report(story, "end", "none", lane.namespace, "FAILED", problems)

    async def tell_story(self, story):
        if not await self.learn(story):
            return
        self.fill_queues(story)
        if self.options.list:
            return
        quick, slow = self.options.lanes[story]
        await asyncio.gather(*[self.go_round(story, False) for _ in range(quick)], *[self.go_round(story, True) for _ in range(slow)])
        self.give_up(story)

    def give_up(self, story):
        """What no time was left for."""
        for step in stories.STORIES[story][1]:
            left = list(self.queues[(step.name, False)]) + list(self.queues[(step.name, True)])
            for fault, _ in left:
                self.table[(story, step.name, fault)][2] += 1
            self.skipped += len(left)
            if left:
                print(f"  SKIPPED {step.name}: {len(left)} cases, no time left")

    async def run(self):
        wanted = self.options.story
        names = [name for name, (_, circle) in stories.STORIES.items() if wanted in (None, name, *(step.name for step in circle))]
        await asyncio.gather(*[self.tell_story(name) for name in names])


def parse_options():
    parser = argparse.ArgumentParser(prog="run.sh", description="Every API call failing in turn, the operator killed after every write.")
    parser.add_argument("--operator", required=True)
    parser.add_argument("--kubeconfig", required=True)
    parser.add_argument("--work", required=True, help="folder for logs and keys")
    parser.add_argument("--seconds", type=int, default=240, help="no new case after this; the rest is reported as skipped")
    parser.add_argument("--full", action="store_true", help="every fault on every request, not a sample")
    parser.add_argument("--verbose", action="store_true", help="a line for each passed case as well")
    parser.add_argument("--list", action="store_true", help="only the undisturbed rounds, and the cases that there would be")
    parser.add_argument("--results", help="file that gets the line: faults PASSED FAILED SKIPPED")
    steps = [step.name for _, circle in stories.STORIES.values() for step in circle]
    parser.add_argument("story", nargs="?", choices=[*stories.STORIES, *steps], help="only this one, or only this step of one")
    parser.add_argument("fault", nargs="?", help="only this kind of fault")
    parser.add_argument("key", nargs="?", help='only requests that contain this, e.g. "PATCH statefulsets/db-mysql #1"')
    options = parser.parse_args()
    options.lanes = {"life": (5, 3), "scale": (2, 1), "grow": (1, 1), "restart": (2, 1)}
    return options


async def main(options):
    rig = Rig(options)
    run = Run(rig, options)
    task = asyncio.current_task()
    for number in (signal.SIGTERM, signal.SIGINT):
        asyncio.get_running_loop().add_signal_handler(number, task.cancel)
    try:
        await rig.start()
        await run.run()
    except LaneBroken as error:
        run.report("-", "-", "none", "the rig", "FAILED", [str(error)])
    finally:
        rig.stop()
    if rig.world.failed:
        run.report("-", "-", "none", "the rig", "FAILED", [rig.world.failed])
    run.print_table()
    if run.unsteady:
        print(f"  unsteady: {len(run.unsteady)} of at most {UNSTEADY_MAX}, told above, tried again")
    print(f"  faults: {run.passed} passed, {run.failed} failed, {run.skipped} skipped")
    if options.results:
        with open(options.results, "a", encoding="ascii") as file:
            file.write(f"faults {run.passed} {run.failed} {run.skipped}\n")
    return 1 if run.failed or not run.passed else 0


if __name__ == "__main__":
    sys.exit(asyncio.run(main(parse_options())))
