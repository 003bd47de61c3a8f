# SPDX-License-Identifier: Apache-2.0
"""main: the driver of the fault bed. See run.sh and docs/faults.md."""
import argparse
import asyncio
import fnmatch
import json
import os
import pathlib
import random
import signal
import sys
import time

sys.path.insert(1, str(pathlib.Path(__file__).resolve().parent.parent))

import cases
import overlap
from bed import HEALTHY_SECONDS, Bed
from check import check, wait_equal
from results import Results
from write_gap import compare
from watchers import DIRECT, SERVICE

PURGE_EVERY = 10
SECOND_NS = 1_000_000_000
KEPT_BYTES, KEPT_POD_BYTES = 16_000_000, 4_000_000


class Cycle:
    """One fault from one healthy state to the next."""

    def __init__(self, bed, case, number):
        self.bed, self.case, self.number = bed, case, number
        self.problems, self.before = [], {}
        self.expect = case.expected(bed)
        self.figures = {"case": case.name, "cycle": number, "direct": None, "service": None, "open": None, "lost": 0, "twice": 0, "double_open": 0.0}

    async def run(self):
        bed, case = self.bed, self.case
        if not await bed.healthy():
            raise RuntimeError(f"not healthy before the cycle: {bed.why()}")
        await bed.sql(bed.primary(), "TRUNCATE TABLE shop.w")
        if case.prepare:
            await case.prepare(bed)
        different = await wait_equal(bed)
        if different:
            raise RuntimeError(f"not equal before the cycle: {different}")
        if self.number % PURGE_EVERY == 0:
            await self._purge()
        bed.old, bed.fault_ns = bed.primary(), 0
        mark, self.before = len(bed.api.history) - 1, bed.status()  # the present primary
        watchers = bed.watchers = bed.watch(self.number, case.limit_ms)
        await watchers.start()
        try:
            if not await watchers.writes(20, 10):
                raise RuntimeError("the writers do not write")
            await asyncio.sleep(random.uniform(0, 0.3))
            began = time.monotonic()
            await case.act(bed)
            bed.fault_ns = bed.fault_ns or int(began * 1e9)
            await self._outcome(watchers)
            await bed.undo()
            if case.mend:
                await case.mend(bed)
            if not await bed.healthy(case.heal_seconds):
                self.problems.append(f"not healthy {case.heal_seconds} s after the fault: {bed.why()}")
            self.figures["healthy"], self.figures["waited_for"] = time.monotonic() - bed.fault_ns / 1e9, bed.last_why
            await asyncio.sleep(0.3)
        finally:
            await watchers.stop()
        primaries = [primary for _, _, primary in bed.api.history[mark:]]
        await self._judge(watchers, 1 + sum(one != other for one, other in zip(primaries, primaries[1:])))

    async def _purge(self):
        """Of hundreds of cycles the volumes would be full; nobody needs the logs of those that are done."""
        for name in self.bed.members():
            await self.bed.sql(name, "FLUSH LOCAL BINARY LOGS")
            await self.bed.sql(name, "PURGE BINARY LOGS BEFORE NOW() - INTERVAL 5 SECOND")

    async def _outcome(self, watchers):
        """What came of it, while the fault lasts."""
        bed, case = self.bed, self.case

        def moved():
            return bed.primary() not in (None, bed.old) and watchers.acknowledged_since(bed.fault_ns)

        expect = case.expected(bed)
        if expect == cases.FAILOVER:
            if not await bed.api.until("a failover", moved, case.seconds):
                self.problems.append(f"no failover within {case.seconds} s: primary {bed.primary()}, state {bed.status().get('state')}")
            await asyncio.sleep(case.hold)
        elif expect == cases.SERVES:
            if not await bed.api.until("writes", lambda: bed.primary() and watchers.acknowledged_since(bed.fault_ns + SECOND_NS), case.seconds):
                self.problems.append(f"nobody took writes within {case.seconds} s: primary {bed.primary()}, state {bed.status().get('state')}")
        elif expect == cases.EITHER:
            await asyncio.sleep(case.seconds)
        else:
            if await bed.api.until("nothing", lambda: bed.primary() not in (None, bed.old), case.seconds):
                self.problems.append(f"{bed.primary()} became primary; expected: {expect}")

    async def _judge(self, watchers, reigns):
        bed, case, figures = self.bed, self.case, self.figures
        old = watchers.server_before(bed.fault_ns)
        expect = case.expected(bed)
        elsewhere = old if expect == cases.FAILOVER else None
        figures["direct"] = watchers.outage(DIRECT, bed.fault_ns, elsewhere)
        figures["service"] = watchers.outage(SERVICE, bed.fault_ns, elsewhere)
        figures["open"] = watchers.opened(bed.fault_ns, bed.old) if expect == cases.FAILOVER else None
        figures["double_open"] = watchers.double_open_ms()
        if expect == cases.FAILOVER:
            figures["phases"] = (bed.status().get("lastFailover") or {}).get("phases")
        figures["members"] = len(bed.members())
        figures["told"] = compare(watchers.acks, bed.fault_ns, bed.status(), self.before)
        found = await check(bed, watchers)
        figures["lost"], figures["twice"] = found.lost, found.twice
        self.problems += found.problems
        if figures["lost"] and not (bed.mode == "async" and (bed.status().get("lastFailover") or {}).get("mayBeLost")):
            self.problems.append(f"I3: {figures['lost']} acknowledged rows are lost")
        double = watchers.double_acknowledged(reigns)
        if double:
            self.problems.append(f"I1: {double}")
        if figures["double_open"] > 0 and not (case.fenced_by_acks and bed.mode == "semiSync"):
            self.problems.append(f"I1: two members took writes for {figures['double_open']:.0f} ms")
        blind = watchers.blind(bed.fault_ns, bed.old)
        if blind:
            self.problems.append(f"the sampler did not see {blind} before the fault")
        figures["acknowledged"] = len(watchers.acknowledged())
        if case.verify:
            self.problems += await case.verify(bed)
        if expect != cases.WAITS and figures["direct"] is None:
            self.problems.append("nobody took writes after the fault")
        if case.max_outage_ms and (figures["service"] or 0) > case.max_outage_ms:
            self.problems.append(f"writes waited for {figures['service']:.0f} ms, more than {case.max_outage_ms}")


def chosen(pattern, table=cases.CASES):
    names = pattern.split(",")
    return [case for case in table if any(fnmatch.fnmatch(case.name, name) for name in names) or (pattern == "all" and not case.by_name_only)]


async def run_cases(bed, options, results, table=cases.CASES):
    number, end = 0, time.monotonic() + options.seconds
    for case in [case for _ in range(options.count) for case in chosen(options.case, table)]:
        number += 1
        reason = case.reason_to_skip(bed)
        if not reason and time.monotonic() > end:
            reason = f"{options.seconds} s are over"
        if reason:
            results.skip(case, number, reason)
            continue
        cycle, began = Cycle(bed, case, number), time.time()
        try:
            if case.on_floor:
                cycle.bed = await bed.on_the_floor()
            await cycle.run()
        except (RuntimeError, OSError, AttributeError, KeyError) as error:
            cycle.problems.append(f"{type(error).__name__}: {error}")
        if case.must_find:
            found = any(case.must_find in problem for problem in cycle.problems)
            cycle.problems = [] if found else [f"the checks did not find that {case.what}"]
        results.add(case, cycle)
        if cycle.problems:
            await bed.fetch_logs()
            save(bed, results, number, began)
        await bed.undo()
        if not await bed.healthy(HEALTHY_SECONDS):
            print(f"bed: given up, not healthy: {bed.why()}", flush=True)
            results.broken = True
            return


def save(bed, results, name, began=0):
    """What a person would look at first. Returns the folder."""
    target = bed.folder / "evidence" / str(name)
    target.mkdir(parents=True, exist_ok=True)
    for path in list(bed.folder.glob("*.log")) + list(bed.folder.glob("records/*")):
        (target / path.name).write_bytes(path.read_bytes()[-KEPT_BYTES:])
    for path in bed.folder.glob("pods/*/*.log"):  # those of pods that are gone too
        if path.stat().st_mtime > began:
            (target / f"{path.parent.name}.{path.name}").write_bytes(path.read_bytes()[-KEPT_POD_BYTES:])
    (target / "cluster.json").write_text(json.dumps(bed.cluster(), indent=1))
    results.evidence = str(target.parent)
    return target


async def main():
    parser = argparse.ArgumentParser()
    for name in ("work", "tools", "build", "mysql-root", "results", "raw", "operator-flags", "spoil"):
        parser.add_argument(f"--{name}", default="")
    parser.add_argument("--flavour", default="mariadb", choices=["mariadb", "mysql"])
    parser.add_argument("--mode", default="semiSync", choices=["semiSync", "async"])
    parser.add_argument("--etcd", default="disk", choices=["disk", "memory"])
    parser.add_argument("--case", default="all")
    parser.add_argument("--count", type=int, default=1)
    parser.add_argument("--seconds", type=int, default=86400)
    parser.add_argument("--spec", default="{}")
    parser.add_argument("--overlap", type=int, default=0)
    parser.add_argument("--members", type=int, default=3)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--commit", default="")
    options = parser.parse_args()
    if not chosen(options.case):
        print(f"bed: no case is called {options.case}")
        return 2
    if options.overlap:
        options.count = len(options.spoil.split(",")) if options.spoil else options.count
        options.spec = json.dumps({"replicas": options.members, **json.loads(options.spec)})
    bed, results = Bed(options), overlap.Rounds(options) if options.overlap else Results(options)
    task = asyncio.current_task()
    for number in (signal.SIGTERM, signal.SIGINT):
        asyncio.get_running_loop().add_signal_handler(number, task.cancel)
    try:
        await bed.start()
        if options.overlap:
            await overlap.run_rounds(bed, options, results, save)
        else:
            await run_cases(bed, options, results)
    except asyncio.CancelledError:
        print("bed: cut off")
        results.broken = True
    except RuntimeError as error:
        print(f"bed: {error}")
        if bed.nodes:
            save(bed, results, 0)
        results.broken = True
    finally:
        await bed.stop()
    code = results.finish()
    sys.stdout.flush()
    os._exit(code)  # at once: asyncio would wait for every task, and wait_for may swallow that one was cancelled


if __name__ == "__main__":
    if "--plan" in sys.argv:
        overlap.print_plan(*map(int, sys.argv[2:5]))
        sys.exit(0)
    if "--list" in sys.argv:
        cases.print_table()
        sys.exit(0)
    sys.exit(asyncio.run(main()))
