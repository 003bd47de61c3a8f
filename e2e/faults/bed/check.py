# SPDX-License-Identifier: Apache-2.0
"""check: what all members hold after a cycle: nothing acknowledged is missing, nothing is there twice, one history, all equal."""
import asyncio
import dataclasses
import time

EQUAL_SECONDS = 40
ATTEMPTS = 3
POSITION = {
    "mariadb": "SELECT @@gtid_binlog_pos",
    "mysql": "SELECT REPLACE(@@gtid_executed, '\\n', '')",
}


async def positions(bed):
    return await asyncio.gather(*(bed.sql(name, POSITION[bed.flavour]) for name in bed.members()))


async def wait_equal(bed, seconds=EQUAL_SECONDS):
    """Until all members have the same transactions. The heartbeat goes on, so they are asked until they agree. Returns "" or what differs."""
    end, last = time.monotonic() + seconds, ""
    while time.monotonic() < end:
        try:
            found = await positions(bed)
            if all(each == found[0] for each in found):
                return ""
            last = f"positions differ: {dict(zip(bed.members(), (each[0][0] if each else '' for each in found)))}"
        except RuntimeError as error:
            last = str(error)
        await asyncio.sleep(0.1)
    return last


async def ask(bed, name, text, seconds):
    """Again when the connection is lost: on a busy machine it takes longer than a client waits."""
    for attempts_left in range(ATTEMPTS - 1, -1, -1):
        try:
            return await bed.sql(name, text, seconds)
        except RuntimeError as error:
            if not attempts_left:
                raise
            print(f"         : again: {error}", flush=True)
            await asyncio.sleep(2)


@dataclasses.dataclass
class Findings:
    lost: int = 0  # acknowledged rows that the primary does not have
    twice: int = 0
    behind: bool = False  # members did not come to have the same transactions in time
    problems: list = dataclasses.field(default_factory=list)
    missing: dict = dataclasses.field(default_factory=dict)  # by member: (thread, seq) of acknowledged rows that are not there


def compare(found, name, rows, acknowledged, attempted):
    """What one member holds with what was acknowledged and what was tried."""
    keys = [(int(thread), int(seq)) for thread, seq in rows]
    there = set(keys)
    missing = acknowledged - there
    if missing:
        found.missing[name] = sorted(missing)
        print(f"         : {name} lacks {len(missing)} acknowledged rows, as (thread, seq) {sorted(missing)[:5]}", flush=True)
    if len(keys) != len(there):
        found.twice = max(found.twice, len(keys) - len(there))
        found.problems.append(f"{name} has {len(keys) - len(there)} rows twice")
    if there - attempted:
        found.problems.append(f"{name} has rows that nobody wrote: {sorted(there - attempted)[:5]}")


async def check(bed, watchers, seconds=60, equal_seconds=EQUAL_SECONDS):
    """Returns Findings."""
    found, sums = Findings(), {}
    different = await wait_equal(bed, equal_seconds)
    if different:
        found.behind = True
        found.problems.append(different)
    acknowledged, attempted = watchers.acknowledged(), watchers.attempted()
    for name in bed.members():
        try:
            rows = await ask(bed, name, f"SELECT thread, seq FROM shop.w WHERE cycle = {watchers.cycle}", seconds)
            sums[name] = await ask(bed, name, "SELECT COUNT(*), COALESCE(BIT_XOR(CRC32(CONCAT_WS(',', n, cycle, thread, seq, filler))), 0) FROM shop.w", seconds)
        except RuntimeError as error:
            found.problems.append(str(error))
            continue
        compare(found, name, rows, acknowledged, attempted)
    found.lost = len(found.missing.get(bed.primary(), ()))  # others are behind: that they differ is told next
    if len({str(each) for each in sums.values()}) > 1:
        found.problems.append(f"members differ: {sums}")
    return found


def tables_expected(changes):
    """By (thread, seq) of a small table, as its records tell: "create" or "alter" (it must be there, after that statement), "drop" (it must not be there),
    or None: its last statement was not acknowledged, so nobody knows."""
    last = {}
    for each in sorted(changes, key=lambda change: change.start):
        last[each.thread, each.seq] = each.what if each.result == 0 else None
    return last


async def check_tables(bed, watchers, seconds=60):
    """The small tables that acknowledged statements made, changed and dropped, on each member. Returns (how many are wrong on the primary, problems)."""
    expected, problems, wrong_ones, shapes = tables_expected(watchers.changes), [], {}, {}
    for name in bed.members():
        try:
            rows = await ask(bed, name, (
                "SELECT table_name, COUNT(*) FROM information_schema.columns WHERE table_schema = 'shop'"
                f" AND table_name LIKE 't\\_{watchers.cycle}\\_%' GROUP BY table_name ORDER BY table_name"), seconds)
        except RuntimeError as error:
            problems.append(str(error))
            continue
        there = {tuple(map(int, table.split("_")[2:])): int(columns) for table, columns in rows}
        shapes[name] = str(rows)
        columns_of = {"create": 2, "alter": 3, "drop": None}
        wrong = [f"{key} after {what}: {there.get(key)} columns" for key, what in expected.items() if what and there.get(key) != columns_of[what]]
        wrong_ones[name] = len(wrong)
        if wrong:
            problems.append(f"{name}: {len(wrong)} tables are not as acknowledged: {wrong[:5]}")
    if len(set(shapes.values())) > 1:
        problems.append("members have different tables")
    return wrong_ones.get(bed.primary(), 0), problems
