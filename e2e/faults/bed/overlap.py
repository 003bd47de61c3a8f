# SPDX-License-Identifier: Apache-2.0
"""overlap: rounds of faults that overlap. See docs/faults.md.

A round is chosen by its seed (`plan`): after pauses of 0 to 15 s one, two or three faults at once, whether the last ones have healed or not, while six to eight
threads write rows, many rows at a time, and small tables. Then all faults end, the cluster has some minutes to be healthy without help by a person, and every
acknowledged row and table is looked up on every member.
"""
import asyncio
import dataclasses
import json
import os
import pathlib
import random
import time

import cases
from api import now
from check import check, check_tables, tables_expected, wait_equal
from results import ms
from troubles import KINDS, PRIMARY, Fault, Troubles
from watchers import Load

WRITING_SECONDS, HEAL_SECONDS = 60, 600  # the writer goes on for so long after the last fault; then there is so much more time
EQUAL_SECONDS = 600
QUERY_SECONDS = 240
LIMIT_MS = 2000  # after which a client gives up
LOAD = Load("mixed", 3, 25000, 50000)
PURGE_EVERY = 4
PREPARE_ATTEMPTS = 5
UNEXPECTED = (RuntimeError, OSError, AttributeError, KeyError, IndexError, ValueError, asyncio.TimeoutError)
LOG_FILE_BYTES = 400 << 20  # of a member, of its binary and relay logs that are kept


@dataclasses.dataclass
class Step:
    pause: float  # before it
    faults: list


def pause_of(chance):
    """0 to 15 s, the short ones more often: the next fault comes while something is being decided."""
    least, most = chance.choice([(0, 1), (0, 1), (1, 5), (1, 5), (5, 15)])
    return round(chance.uniform(least, most), 2)


def plan(seed, members, count):
    """Steps of `count` faults in all."""
    chance = random.Random(f"{seed}/{members}/{count}")
    names, weights = list(KINDS), [kind.weight for kind in KINDS.values()]
    steps, made = [], 0
    while made < count:
        faults = []
        for _ in range(min(chance.choice([1, 1, 1, 2, 2, 3]), count - made)):
            kind = chance.choices(names, weights)[0]
            target = PRIMARY if chance.random() < 0.5 else chance.randrange(members)
            faults.append(Fault(kind, target, round(chance.uniform(*KINDS[kind].seconds), 1), f"{seed}/{made}"))
            made += 1
        steps.append(Step(pause_of(chance), faults))
    return steps


def print_plan(seed, members, count):
    for step in plan(seed, members, count):
        print(f"after {step.pause:5.2f} s: " + "; ".join(f"{each.kind} {each.target}" + (f" {each.seconds} s" if each.seconds else "") for each in step.faults))


async def lose_table(bed, watchers):
    there = [key for key, what in tables_expected(watchers.changes).items() if what in ("create", "alter")]
    if not there:
        raise RuntimeError("no table was left")
    await bed.sql(bed.primary(), f"DROP TABLE shop.t_{watchers.cycle}_{there[0][0]}_{there[0][1]}")


def spoiling(act):
    async def spoil(bed, _watchers):
        bed.old = bed.primary()
        await act(bed)
    return spoil


# What the checks must find: done behind the writers' backs when all is over; what a round that passes has told then.
SPOILS = {
    "lost": (spoiling(cases.lose_row), "acknowledged rows are missing"), "twice": (spoiling(cases.double_row), "rows twice"),
    "differ": (spoiling(cases.change_replica), "members differ"), "table": (lose_table, "tables are not as acknowledged"),
}


class Round:
    def __init__(self, bed, options, number, seed, spoil=None):
        self.bed, self.number, self.seed, self.options, self.spoil = bed, number, seed, options, spoil
        self.count = options.members
        self.troubles = Troubles(bed, self.count)
        self.steps = plan(seed, self.count, options.overlap)
        self.problems, self.done, self.tasks = [], [], []
        self.found = None
        self.figures = {
            "seed": seed, "commit": options.commit, "flavour": bed.flavour, "members": self.count, "rows": 0, "lost": 0, "twice": 0, "tables": 0,
            "tables_lost": 0, "pause_ms": None, "healed_s": None, "dead_end": "", "began": now(), "load": os.getloadavg()[0],
        }

    # ---- before ----

    async def empty(self):
        """No rows, no small tables."""
        bed = self.bed
        tables = await bed.sql(bed.primary(), "SELECT table_name FROM information_schema.tables WHERE table_schema = 'shop' AND table_name LIKE 't\\_%'")
        for (table,) in tables:
            await bed.sql(bed.primary(), f"DROP TABLE IF EXISTS shop.{table}")
        await bed.sql(bed.primary(), "TRUNCATE TABLE shop.w", 60)

    async def prepare(self):
        bed = self.bed
        for attempts_left in range(PREPARE_ATTEMPTS - 1, -1, -1):  # on a busy machine a server may be thought dead at any time
            if not await bed.healthy(HEAL_SECONDS):
                raise RuntimeError(f"not healthy before the round: {bed.why()}")
            try:
                await self.empty()
                break
            except RuntimeError:
                if not attempts_left:
                    raise
                await asyncio.sleep(2)
        different = await wait_equal(bed, EQUAL_SECONDS)
        if different:
            raise RuntimeError(f"not equal before the round: {different}")
        if self.number % PURGE_EVERY == 0:
            for name in bed.members():
                await bed.sql(name, "FLUSH LOCAL BINARY LOGS")
                await bed.sql(name, "PURGE BINARY LOGS BEFORE NOW() - INTERVAL 5 SECOND")

    # ---- faults ----

    async def one(self, fault):
        line = {"at_s": round(time.monotonic() - self.began, 2), "at": time.time(), "kind": fault.kind, "target": fault.target, "seconds": fault.seconds, "load": os.getloadavg()[0]}
        self.done.append(line)
        try:
            line["done"] = await self.troubles.run(fault)
        except UNEXPECTED as error:
            line["failed"] = f"{type(error).__name__}: {error}"
        finally:
            line["over_s"] = round(time.monotonic() - self.began, 2)

    def tell(self, fault):
        lasts = f" for {fault.seconds} s" if fault.seconds else ""
        print(f"    +{time.monotonic() - self.began:6.2f} s  load {os.getloadavg()[0]:4.1f}  {fault.kind} {fault.target}{lasts}  (primary {self.bed.primary()})", flush=True)

    async def faults(self):
        for step in self.steps:
            await asyncio.sleep(step.pause)
            for fault in step.faults:
                self.tell(fault)
                self.tasks.append(asyncio.create_task(self.one(fault)))
        await asyncio.gather(*self.tasks)

    async def put_right(self):
        """What lasts after all faults have ended: orders, and whatever was started in the midst of a fault."""
        bed = self.bed
        await bed.undo()
        await bed.forget_switchover()
        await bed.api.insist("PATCH", bed.path(), {"spec": {"replicas": self.count}})
        await bed.api.until("the number of members", lambda: len(bed.members()) == self.count, 30)

    async def run(self):
        bed = self.bed
        await self.prepare()
        watchers = bed.watch(self.number, LIMIT_MS, LOAD)
        bed.note_statuses()
        await watchers.start()
        self.began = time.monotonic()
        first = len(bed.api.history) - 1
        try:
            if not await watchers.writes(20, 60):
                raise RuntimeError("the writers do not write")
            self.began, self.figures["first"] = time.monotonic(), bed.primary()
            await self.faults()
            await self.put_right()
            ended, bed.last_why = time.monotonic(), ""
            if not await bed.healthy(WRITING_SECONDS):
                await watchers.stop()  # who lags on a busy machine may catch up
            if await bed.healthy(HEAL_SECONDS):
                self.figures["waited_for"] = bed.last_why
                self.figures["healed_s"] = round(time.monotonic() - ended, 1)
                await asyncio.sleep(1)
            else:
                self.figures["dead_end"] = bed.why()
                self.problems.append(f"dead end: not healthy {HEAL_SECONDS} s after the last fault: {bed.why()}")
        finally:
            for task in self.tasks:
                task.cancel()
            await watchers.stop()
        if self.spoil:
            await SPOILS[self.spoil][0](bed, watchers)
        primaries = [name for _, _, name in bed.api.history[first:] if name]
        await self.judge(watchers, 1 + sum(one != other for one, other in zip(primaries, primaries[1:])))

    # ---- after ----

    async def judge(self, watchers, reigns):
        bed, figures = self.bed, self.figures
        figures["rows"], figures["pause_ms"] = len(watchers.acknowledged()), watchers.longest_pause_ms()
        figures["tables"] = sum(each.result == 0 for each in watchers.changes)
        figures["two_open_ms"], figures["primaries"] = round(watchers.double_open_ms()), reigns
        double = watchers.double_acknowledged(reigns)
        if double:
            self.problems.append(f"I1: {double}")
        found = self.found = await check(bed, watchers, QUERY_SECONDS, 5 if figures["dead_end"] else EQUAL_SECONDS)
        figures["twice"] = found.twice
        missing = [set(each) for each in found.missing.values()]
        if figures["dead_end"]:  # what no member has that could be asked
            complete = len(missing) < len(bed.members())
            figures["lost"] = 0 if complete or not missing else len(set.intersection(*missing))
            figures["beside"] = found.problems
        elif found.behind:  # whether a row is lost or late nobody knows of the others
            figures["lost"] = found.lost
            self.problems += found.problems
        else:
            self.problems += found.problems
            figures["lost"] = len(set.union(set(), *missing))
        if figures["lost"]:
            self.problems.append(f"I3: {figures['lost']} acknowledged rows are missing: {({name: len(rows) for name, rows in found.missing.items()})}")
            self.write_missing(watchers)
        if not figures["dead_end"]:
            figures["tables_lost"], problems = await check_tables(bed, watchers, QUERY_SECONDS)
            self.problems += problems

    def write_missing(self, watchers):
        """Each missing row with its attempt, in the time of the logs."""
        offset = time.time_ns() - time.monotonic_ns()
        missing = set.union(*(set(rows) for rows in self.found.missing.values()))
        lines = []
        for each in watchers.acks:
            gone = [each.seq + i for i in range(each.rows) if (each.thread, each.seq + i) in missing]
            if gone:
                times = [time.strftime("%H:%M:%S", time.gmtime((at + offset) / 1e9)) + f".{(at + offset) // 1000000 % 1000:03}" for at in (each.start, each.end)]
                lines.append(f"{times[0]} {times[1]} server {each.server} thread {each.thread} seq {gone[0]} to {gone[-1]} of {each.rows}")
        (self.bed.folder / "records" / "missing").write_text("\n".join(sorted(lines)) + "\n")


class Rounds:
    """What came of all of them."""

    def __init__(self, options):
        self.options, self.passed, self.failed, self.faults, self.rows = options, 0, 0, 0, 0
        self.broken, self.evidence = False, ""

    def add(self, round_):
        figures, ok = round_.figures, not round_.problems
        done = [each for each in round_.done if "failed" not in each]
        load = max([figures["load"]] + [each["load"] for each in round_.done])
        figures.update(faults=len(done), not_done=len(round_.done) - len(done), ok=ok, problems=round_.problems, ended=now(), load=load)
        self.passed += ok
        self.failed += not ok
        self.faults += len(done)
        self.rows += figures["rows"]
        healed = figures["healed_s"]
        print(
            f"  {'ok' if ok else 'FAILED':6} {round_.number:4} seed {round_.seed}  {figures['flavour']} {figures['members']} members  commit {figures['commit']}  load {load:.1f}"
            f"  faults {figures['faults']}  rows {figures['rows']}  lost {figures['lost']}  twice {figures['twice']}  table statements {figures['tables']}"
            f"  longest pause {ms(figures['pause_ms'])} ms  healed {'-' if healed is None else healed} s  primaries {figures.get('primaries', 0)}  two open {figures.get('two_open_ms', 0)} ms"
        )
        for problem in round_.problems:
            print(f"         | {problem}")
        print("", end="", flush=True)
        if self.options.raw:
            with open(self.options.raw, "a", encoding="utf-8") as file:
                file.write(json.dumps({**figures, "chosen": round_.done}) + "\n")

    def finish(self):
        if self.evidence:
            print(f"\nevidence of failed rounds: {self.evidence}")
        print(f"\noverlapping faults: {self.faults} in {self.passed + self.failed} rounds, {self.rows} rows acknowledged; {self.passed} rounds passed, {self.failed} failed"
              f"{', cut short' if self.broken else ''}")
        if self.options.results:
            with open(self.options.results, "a", encoding="utf-8") as file:
                file.write(f"faults {self.passed} {self.failed + self.broken} 0\n")
        return 1 if self.failed or self.broken or not self.passed else 0


QUERIES = (
    "SELECT @@server_id, @@hostname, @@read_only", "SELECT @@gtid_binlog_pos, @@gtid_slave_pos, @@gtid_current_pos", "SELECT @@gtid_executed, @@gtid_purged",
    "SHOW BINARY LOGS", "SHOW ALL SLAVES STATUS\\G", "SHOW REPLICA STATUS\\G", "SHOW GLOBAL STATUS LIKE '%semi%'", "SHOW GLOBAL VARIABLES LIKE '%semi%'",
    "SHOW FULL PROCESSLIST",
)


async def save_servers(bed, target):
    """What the servers say, and their binary and relay logs."""
    for name, pod in list(bed.nodes.pods.items()):
        text = []
        for query in QUERIES:  # some are of the other family
            try:
                text.append(f"== {query}\n" + "\n".join("\t".join(row) for row in await bed.sql(name, query, 10)))
            except UNEXPECTED as error:
                text.append(f"== {query}\n{error}")
        (target / f"{name}.sql").write_text("\n".join(text) + "\n")
        files = [path for pattern in ("*binlog.*", "*relay*", "*-bin.*") for path in pathlib.Path(pod.volume or "/nonexistent").rglob(pattern) if path.is_file()]
        budget = LOG_FILE_BYTES
        (target / f"{name}.logs").mkdir(exist_ok=True)
        for path in sorted(files, key=lambda each: -each.stat().st_mtime):
            budget -= path.stat().st_size
            if budget > 0:
                (target / f"{name}.logs" / path.name).write_bytes(path.read_bytes())


async def run_rounds(bed, options, rounds, save):
    end = time.monotonic() + options.seconds
    for number in range(1, options.count + 1):
        if time.monotonic() > end:
            break
        seed = options.seed + number - 1
        spoil = options.spoil.split(",")[number - 1] if options.spoil else None
        round_, began = Round(bed, options, number, seed, spoil), time.time()
        print(f"  round {number}, seed {seed}, commit {options.commit}, {bed.flavour}, {options.members} members, load {os.getloadavg()[0]:.1f}, {now()}", flush=True)
        try:
            await round_.run()
        except UNEXPECTED as error:
            round_.problems.append(f"{type(error).__name__}: {error}")
        if spoil:
            found = any(SPOILS[spoil][1] in problem for problem in round_.problems)
            round_.problems = [] if found else [f"the checks did not find what was spoilt: {spoil}"]
        if round_.problems:
            target = save(bed, rounds, f"seed-{seed}", began)
            (target / "faults.json").write_text(json.dumps({**round_.figures, "problems": round_.problems, "chosen": round_.done}, indent=1))
            await save_servers(bed, target)
        rounds.add(round_)
        await round_.put_right()
        if not await bed.healthy():
            print(f"bed: given up, not healthy: {bed.why()}", flush=True)
            return
