"""check: what all members hold after a cycle: nothing acknowledged is missing, nothing is there twice, one history, all equal."""
import asyncio
import time

EQUAL_SECONDS = 40
POSITION = {
    "mariadb": "SELECT @@gtid_binlog_pos",
    "mysql": "SELECT REPLACE(@@gtid_executed, '\\n', '')",
}


async def positions(bed):
    return await asyncio.gather(*(bed.sql(name, POSITION[bed.flavour]) for name in bed.members()))


async def wait_equal(bed):
    """Until all members have the same transactions. The heartbeat goes on, so they are asked until they agree. Returns "" or what differs."""
    end, last = time.monotonic() + EQUAL_SECONDS, ""
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


async def check(bed, watchers):
    """Returns (lost, twice, problems)."""
    problems = []
    different = await wait_equal(bed)
    if different:
        problems.append(different)
    acknowledged, attempted = watchers.acknowledged(), watchers.attempted()
    lost = twice = 0
    sums = {}
    for name in bed.members():
        try:
            rows = await bed.sql(name, f"SELECT thread, seq FROM shop.w WHERE cycle = {watchers.cycle}", 60)
            sums[name] = await bed.sql(name, "SELECT COUNT(*), COALESCE(BIT_XOR(CRC32(CONCAT_WS(',', n, cycle, thread, seq, filler))), 0) FROM shop.w", 60)
        except RuntimeError as error:
            problems.append(str(error))
            continue
        keys = [(int(thread), int(seq)) for thread, seq in rows]
        there = set(keys)
        missing = acknowledged - there
        if missing:
            if name == bed.primary():  # others are behind: that they differ is told below
                lost = len(missing)
            print(f"         : {name} lacks {len(missing)} acknowledged rows, as (thread, seq) {sorted(missing)[:5]}", flush=True)
        if len(keys) != len(there):
            twice = max(twice, len(keys) - len(there))
            problems.append(f"{name} has {len(keys) - len(there)} rows twice")
        if there - attempted:
            problems.append(f"{name} has rows that nobody wrote: {sorted(there - attempted)[:5]}")
    if len({str(each) for each in sums.values()}) > 1:
        problems.append(f"members differ: {sums}")
    return lost, twice, problems
