# SPDX-License-Identifier: Apache-2.0
"""cases: every fault by name: what it does, which invariants it tries (I1 to I7 of the design), and what must come of it.

FAILOVER  another member becomes primary within `seconds`, be it planned or not
NONE      the primary stays, for `seconds`, and takes writes
WAITS     the primary stays, for `seconds`, although nobody can write
EITHER    depends on who is quicker; only the invariants are judged, after `seconds`
SERVES    somebody takes writes again within `seconds`: another member, or the old one if it is back before anybody looked

An `act` puts bed.fault_ns to the moment from which outages count. bed.undo() heals links, frozen processes and the like afterwards; `mend` what else there is.
"""
import asyncio
import dataclasses
import os
import random
import signal
import time
import typing

from box import on_disk
from floor import kill_and_promote

FAILOVER, NONE, WAITS, EITHER, SERVES = "failover", "none", "waits", "either", "serves"
STOP, CONT, KILL = signal.SIGSTOP, signal.SIGCONT, signal.SIGKILL
FAKETIME = "/usr/lib/x86_64-linux-gnu/faketime/libfaketimeMT.so.1"
REST_SECONDS = 6  # after which the primary's heartbeat rests, too
CALM_MS = 1500  # a longer pause of writes is no matter of a busy machine


@dataclasses.dataclass
class Case:
    name: str
    what: str
    invariants: str
    expect: str
    act: typing.Callable
    prepare: typing.Callable = None
    mend: typing.Callable = None
    verify: typing.Callable = None  # returns problems, when all is well again
    seconds: float = 20  # for what is expected
    hold: float = 0.5  # the fault goes on after a failover
    heal_seconds: float = 60
    limit_ms: int = 500  # after which a client gives up
    max_outage_ms: int = 0
    fenced_by_acks: bool = False  # the old primary cannot be told: in mode semiSync it may be open, for nobody acknowledges to it
    needs: typing.Callable = None  # returns why this case cannot run
    expect_async: str = None  # what is expected in mode async, if it is something else
    must_find: str = ""  # the case breaks something itself, and the checks must say so
    on_floor: bool = False
    by_name_only: bool = False

    def expected(self, bed):
        return self.expect_async if self.expect_async and bed.mode == "async" else self.expect

    def reason_to_skip(self, bed):
        return self.needs(bed) if self.needs else None


def at_once(bed):
    bed.fault_ns = time.monotonic_ns()


async def nothing(bed):
    at_once(bed)


# ---- processes ----

def killing(*containers, replica=False):
    async def act(bed):
        at_once(bed)
        for container in containers:
            bed.kill(bed.replicas()[0] if replica else bed.old, container)
    return act


def freezing(seconds, replicas=0):
    async def act(bed):
        members = bed.replicas()[:replicas] if replicas else [bed.old]
        at_once(bed)
        for member in members:
            pod = bed.pod(member)
            bed.kill(member, "mysql", STOP)
            bed.later(seconds, pod.containers["mysql"].process.send, CONT)
    return act


async def kill_all(bed):
    at_once(bed)
    for member in bed.members():
        bed.signal_all(member, KILL)


async def kill_all_servers(bed):
    at_once(bed)
    for member in bed.members():
        bed.kill(member, "mysql")


async def freeze_all(bed):
    at_once(bed)
    for member in bed.members():
        bed.stop_node(member)
    await asyncio.sleep(6)
    for member in bed.members():
        bed.start_node(member)
    bed.net.heal()


async def two_failures(bed):
    at_once(bed)
    bed.kill(bed.old, "mysql")
    await asyncio.sleep(2)
    second = bed.primary() if bed.primary() != bed.old else bed.replicas()[0]
    bed.kill(second, "mysql")


async def primary_and_replica(bed):
    at_once(bed)
    bed.kill(bed.old, "mysql")
    bed.kill(bed.replicas()[0], "mysql")


# ---- pods and nodes ----

async def delete_pod(bed):
    at_once(bed)
    await bed.delete_pod(bed.old)


async def delete_pod_now(bed):
    at_once(bed)
    await bed.delete_pod(bed.old, 0)


async def evict_pod(bed):
    at_once(bed)
    if not await bed.evict(bed.old):
        raise RuntimeError("the budget forbids it")


async def stop_node(bed):
    at_once(bed)
    bed.stop_node(bed.old)


async def crash_node(bed):
    at_once(bed)
    bed.stop_node(bed.old)
    bed.signal_all(bed.old, KILL)


async def fill_disk(bed):
    at_once(bed)
    bed.fill_disk(bed.old)


async def freeze_disk(bed):
    at_once(bed)
    await bed.freeze_disk(bed.old)


def at_rest(act):
    """Nobody has written for a while, nor does anybody until another member is primary: who finds it is not a client that waits. A sample is no rest either:
    what it inserts and rolls back is prepared for the binary log."""
    async def resting(bed):
        await asyncio.to_thread(bed.watchers.pause, True)
        try:
            await asyncio.sleep(REST_SECONDS + random.uniform(0, 6))
            await act(bed)
            await bed.api.until("another primary", lambda: bed.primary() not in (None, bed.old), 20)
        finally:
            bed.watchers.pause(False)
    return resting


# ---- links ----

def cutting(whom, from_whom, way="both"):
    """way: both, or whose packets are lost: "out" those of `whom`, "in" those to it."""
    async def act(bed):
        one, other = whom(bed), from_whom(bed)
        at_once(bed)
        if way == "in":
            bed.net.cut(other, one, False)
        else:
            bed.net.cut(one, other, way == "both")
    return act


def primary(bed):
    return [bed.old]


def replicas(bed):
    return [name for name in bed.members() if name != bed.old]


def one_replica(bed):
    return replicas(bed)[:1]


def operators(_bed):
    return ["op-0", "op-1"]


def everybody_but_clients(bed):
    return replicas(bed) + ["op-0", "op-1", "api"]


def members(bed):
    return bed.members()


def slow(delay_ms, loss, then=None, load=0):
    async def act(bed):
        for name in bed.members() + operators(bed):
            await asyncio.to_thread(bed.net.slow_down, name, delay_ms, loss)
        await bed.burn(load)
        await asyncio.sleep(1)
        at_once(bed)
        if then:
            await then(bed)
    return act


# ---- operators and API server ----

async def kill_leader_soon(bed):
    leader = await bed.leader()
    at_once(bed)
    bed.kill(bed.old, "mysql")
    await asyncio.sleep(random.uniform(0, 0.25))
    leader.send(KILL)


async def operator_by_proxy(bed):
    await bed.operator_by_proxy()
    await bed.healthy()


def killing_after_write(number):
    async def act(bed):
        bed.proxy.kill_after(number)
        at_once(bed)
        bed.kill(bed.old, "mysql")
    return act


def was_met(number):
    async def verify(bed):
        """A failover writes at least twice: who is primary, and where the Service leads."""
        met = bed.proxy.killed_after
        print(f"         : killed after {met}" if met else f"         : there was no write number {number}", flush=True)
        return [] if met or number > 2 else [f"there was no write number {number}"]
    return verify


async def pause_leader(bed):
    leader = await bed.leader()
    at_once(bed)
    bed.kill(bed.old, "mysql")
    await asyncio.sleep(random.uniform(0, 0.1))
    leader.send(STOP)
    bed.later(30, leader.send, CONT)


async def pause_leader_early(bed):
    leader = await bed.leader()
    leader.send(STOP)
    bed.later(30, leader.send, CONT)
    await asyncio.sleep(0.5)
    at_once(bed)
    bed.kill(bed.old, "mysql")


async def kill_operators(bed):
    at_once(bed)
    for operator in bed.operators.values():
        await operator.stop()


def api_away(seconds, then=None):
    async def act(bed):
        os.kill(bed.api_server_pid(), STOP)
        bed.later(seconds, os.kill, bed.api_server_pid(), CONT)
        await asyncio.sleep(2)
        at_once(bed)
        if then:
            await then(bed)
    return act


# ---- while something else goes on ----

async def fail_during_clone(bed):
    """A replica loses its volume; while it copies, the primary dies."""
    member = replicas(bed)[0]
    await bed.lose_volume(member)
    if not await bed.api.until("a copy", lambda: bed.seeding(member), 30):
        raise RuntimeError(f"{member} does not copy: {bed.why()}")
    at_once(bed)
    bed.kill(bed.old, "mysql")


async def fail_during_roll(bed):
    await bed.patch({"podTemplate": {"metadata": {"annotations": {"bed.example/roll": str(time.monotonic_ns())}}}})
    pods = {name: bed.pod(name).uid for name in replicas(bed)}

    def rolls():
        return any(not bed.pod(name) or bed.pod(name).ended or bed.pod(name).uid != uid for name, uid in pods.items())

    if not await bed.api.until("a roll", rolls, 30):
        raise RuntimeError("no roll begins")
    at_once(bed)
    bed.kill(bed.primary(), "mysql")


async def fail_during_scale_in(bed):
    """The member that goes is the highest."""
    await bed.patch({"replicas": 2})
    await asyncio.sleep(random.uniform(0, 0.3))
    at_once(bed)
    bed.kill(bed.old, "mysql")


async def scale_out_again(bed):
    await bed.patch({"replicas": 3})
    await asyncio.sleep(1)


async def received_more(bed):
    """One replica cannot apply, but receives; the other applies all it has, but receives nothing more. The first must win."""
    first, second = replicas(bed)
    bed.expected_primary = first
    locked = asyncio.create_task(bed.sql(first, "LOCK TABLES shop.w WRITE; DO SLEEP(2.5)"))
    await asyncio.sleep(0.3)
    bed.net.cut([bed.old], [second])
    await asyncio.sleep(0.7)
    bed.nodes.node_of(bed.old).stop()  # the dead server does not come back before it is over
    at_once(bed)
    bed.kill(bed.old, "mysql")
    await asyncio.gather(locked, return_exceptions=True)


async def first_won(bed):
    winners = [name for _, _, name in bed.api.history if name]
    return [] if bed.expected_primary in winners[-2:] else [f"I4: {bed.expected_primary} had received more, but {winners[-1]} became primary"]


async def turn_clock(bed):
    """A replica lives an hour from now, agent and server."""
    bed.fake_member = replicas_now(bed)[0]
    bed.nodes.fake_times[bed.fake_member] = "+3600"
    await bed.renew(bed.fake_member)


def replicas_now(bed):
    return bed.replicas()


async def turn_clock_of_primary(bed):
    await turn_clock(bed)
    await bed.switch_over(bed.fake_member)


async def turn_clock_back(bed):
    bed.nodes.fake_times.clear()
    await bed.healthy()
    await bed.renew(bed.fake_member)


def needs_faketime(_bed):
    return None if os.path.exists(FAKETIME) else "libfaketime is missing (apt-get install libfaketime)"


# ---- by order ----

async def switch_over(bed):
    at_once(bed)
    await bed.begin_switchover(bed.replicas()[0])


async def roll(bed):
    at_once(bed)
    await bed.patch({"podTemplate": {"metadata": {"annotations": {"bed.example/roll": str(time.monotonic_ns())}}}})


async def forget_order(bed):
    await bed.forget_switchover()


async def disable(bed):
    await bed.patch({"failover": {"enabled": False}})
    await bed.healthy()


async def enable(bed):
    await bed.patch({"failover": {"enabled": True}})


async def forbid_loss(bed):
    await bed.patch({"failover": {"dataLoss": "never"}})
    await bed.healthy()


async def allow_loss(bed):
    await bed.patch({"failover": {"dataLoss": "allow"}})


# ---- what the checks must find ----

async def lose_row(bed):
    at_once(bed)
    await bed.sql(bed.old, "DELETE FROM shop.w ORDER BY n LIMIT 1")


async def double_row(bed):
    at_once(bed)
    await bed.sql(bed.old, "INSERT INTO shop.w (cycle, thread, seq) SELECT cycle, thread, seq FROM shop.w ORDER BY n LIMIT 1")


async def open_replica(bed):
    at_once(bed)
    super_too = "GLOBAL super_read_only = 0, " if bed.flavour == "mysql" else ""
    await bed.sql(replicas(bed)[0], f"SET {super_too}GLOBAL read_only = 0")


async def change_replica(bed):
    """Row by row, past the binary log: GTIDs do not tell."""
    at_once(bed)
    super_off, super_on = ("SET GLOBAL super_read_only = 0;", "SET GLOBAL super_read_only = 1;") if bed.flavour == "mysql" else ("", "")
    change = "UPDATE shop.w SET filler = 'other' ORDER BY n LIMIT 1"
    await bed.sql(replicas(bed)[0], f"{super_off} SET SESSION sql_log_bin = 0; {change}; {super_on}")


def only_async(bed):
    return None if bed.mode == "async" else "is about mode async"


def only_on_disk(_bed):
    return None if on_disk() else "needs FAULTS_VOLUMES=disk"


def not_on_disk(_bed):
    return "needs volumes in memory" if on_disk() else None


def only_semi_sync(bed):
    return None if bed.mode == "semiSync" else "is about mode semiSync"


CASES = [
    Case("none", "no fault at all", "I1", NONE, nothing, seconds=2, max_outage_ms=CALM_MS),
    Case("floor", "kill -9 of a primary without operator, agent and Kubernetes; a script promotes by plain SQL", "I3", FAILOVER, kill_and_promote, on_floor=True),
    Case("switchover", "a planned switchover by annotation", "I1 I2 I3", FAILOVER, switch_over, mend=forget_order),
    Case("rolled", "another template: all pods are replaced, the primary's last, after a switchover", "I1 I2 I3", FAILOVER, roll, seconds=150, heal_seconds=180),
    # processes
    Case("mysqld-killed", "kill -9 of the primary's server", "I1 I2 I3 I4", FAILOVER, killing("mysql"), expect_async=SERVES),
    Case("agent-killed", "kill -9 of the primary's agent", "I5", NONE, killing("agent"), seconds=4, max_outage_ms=CALM_MS),
    Case("mysqld-and-agent-killed", "kill -9 of both", "I1 I3 I4 I5", SERVES, killing("mysql", "agent")),
    Case("replica-mysqld-killed", "kill -9 of a replica's server", "I3 I5", NONE, killing("mysql", replica=True), seconds=3, max_outage_ms=1500),
    Case("mysqld-frozen-1s", "SIGSTOP of the primary's server for 1 s", "I5", NONE, freezing(1), seconds=3, max_outage_ms=2500),
    Case("mysqld-frozen-2s", "for 2.2 s: it comes back in the middle of the promotion", "I1 I3", EITHER, freezing(2.2), seconds=6, fenced_by_acks=True),
    Case("mysqld-frozen-3s", "for 3 s", "I1 I3", EITHER, freezing(3), seconds=6, fenced_by_acks=True),
    Case("mysqld-frozen-10s", "for 10 s", "I1 I3 I4", FAILOVER, freezing(10), fenced_by_acks=True),
    Case("mysqld-frozen-60s", "for 60 s", "I1 I3 I4", FAILOVER, freezing(60), fenced_by_acks=True),
    Case("one-replica-frozen", "SIGSTOP of a replica's server for 5 s", "I3 I5", NONE, freezing(5, 1), seconds=6),
    Case("replicas-frozen", "both replicas' servers for 5 s: commits wait, nothing else happens", "I3 I5", WAITS, freezing(5, 2), seconds=6, expect_async=NONE),
    Case("two-failures-2s", "kill -9 of the primary's server and, 2 s later, of its successor's", "I1 I3 I4", EITHER, two_failures, seconds=15, heal_seconds=90),
    Case("primary-and-replica-killed", "kill -9 of the servers of primary and one replica", "I3 I4", EITHER, primary_and_replica, seconds=10, heal_seconds=90),
    Case("all-servers-killed", "kill -9 of all servers", "I3 I4 I8", EITHER, kill_all_servers, seconds=10, heal_seconds=120),
    Case("all-killed", "kill -9 of everything in all pods", "I3 I4 I8", EITHER, kill_all, seconds=10, heal_seconds=120),
    Case("all-nodes-frozen", "all members frozen and cut off for 6 s", "I1 I3 I5", EITHER, freeze_all, seconds=6, heal_seconds=120),
    # pods, nodes, disks
    Case("pod-deleted", "the primary's pod is deleted", "I1 I3", FAILOVER, delete_pod, seconds=30, heal_seconds=90, expect_async=SERVES),
    Case("pod-deleted-now", "the same without grace", "I1 I3 I4", FAILOVER, delete_pod_now, seconds=30, heal_seconds=90, expect_async=SERVES),
    Case("pod-evicted", "the primary's pod is evicted, as by a drain", "I1 I3", FAILOVER, evict_pod, seconds=30, heal_seconds=90, expect_async=SERVES),
    Case("node-frozen", "all of the primary's node stands still and its links are gone; it comes back", "I1 I3 I5", FAILOVER, stop_node, hold=2, fenced_by_acks=True),
    Case("node-crashed", "all of it is killed and its links are gone; it comes back", "I1 I3 I5", FAILOVER, crash_node, hold=1),
    Case("disk-frozen", "the primary's disk takes no writes any more, and its server hangs", "I1 I3", FAILOVER, freeze_disk, fenced_by_acks=True, needs=only_on_disk),
    Case("rest-mysqld-killed", "kill -9 of the primary's server while nobody writes", "I1 I2 I3 I4", FAILOVER, at_rest(killing("mysql")), expect_async=SERVES),
    Case("rest-disk-frozen", "the primary's disk hangs while nobody writes", "I1 I3", FAILOVER, at_rest(freeze_disk), fenced_by_acks=True, needs=only_on_disk),
    Case("rest-cut-primary-replicas", "no packets between primary and replicas while nobody writes", "I1 I3 I5", FAILOVER, at_rest(cutting(primary, replicas)),
         fenced_by_acks=True, expect_async=NONE),
    Case("rest-cut-primary-off", "none between the primary and all but its clients while nobody writes", "I1 I3 I5 I6", FAILOVER,
         at_rest(cutting(primary, everybody_but_clients)), hold=3, fenced_by_acks=True),
    Case("disk-full", "the primary's volume is full", "I3", FAILOVER, fill_disk, seconds=30, heal_seconds=120, fenced_by_acks=True, needs=not_on_disk),
    # links
    Case("cut-primary-replicas", "no packets between primary and replicas", "I1 I3 I5", FAILOVER, cutting(primary, replicas), fenced_by_acks=True, expect_async=NONE),
    Case("cut-primary-to-replicas", "none from the primary to replicas", "I1 I3 I5", FAILOVER, cutting(primary, replicas, "out"), fenced_by_acks=True, expect_async=NONE),
    Case("cut-replicas-to-primary", "none from replicas to the primary", "I1 I3 I5", FAILOVER, cutting(primary, replicas, "in"), fenced_by_acks=True, expect_async=NONE),
    Case("cut-one-replica", "none between the primary and one replica", "I3 I5", NONE, cutting(primary, one_replica), seconds=6),
    Case("cut-primary-operators", "none between the primary and operators", "I5", NONE, cutting(primary, operators), seconds=8, max_outage_ms=CALM_MS),
    Case("cut-primary-to-operators", "none from the primary to operators", "I5", NONE, cutting(primary, operators, "out"), seconds=8, max_outage_ms=CALM_MS),
    Case("cut-operators-to-primary", "none from operators to the primary", "I5", NONE, cutting(primary, operators, "in"), seconds=8, max_outage_ms=CALM_MS),
    Case("cut-replicas-operators", "none between replicas and operators", "I5", NONE, cutting(replicas, operators), seconds=8, max_outage_ms=CALM_MS),
    Case("cut-operators-members", "none between operators and all members", "I5 I6", NONE, cutting(members, operators), seconds=8, max_outage_ms=CALM_MS),
    Case("cut-operators-api", "none between operators and the API server", "I2", NONE, cutting(operators, lambda bed: ["api"]), seconds=8, max_outage_ms=CALM_MS),
    Case("cut-primary-off", "none between the primary and all but its clients", "I1 I3 I5 I6", FAILOVER, cutting(primary, everybody_but_clients), hold=3, fenced_by_acks=True),
    Case("cut-primary-off-out", "none from it", "I1 I3 I5 I6", FAILOVER, cutting(primary, everybody_but_clients, "out"), hold=3, fenced_by_acks=True),
    Case("cut-primary-off-in", "none to it", "I1 I3 I5 I6", FAILOVER, cutting(primary, everybody_but_clients, "in"), hold=3, fenced_by_acks=True),
    Case("cut-everybody", "no packets between any two of members and operators", "I1 I5 I6", WAITS, cutting(members, lambda bed: bed.members() + operators(bed)), seconds=10, expect_async=EITHER),
    Case("slow", "200 ms of latency and 5 % loss for 15 s", "I5", NONE, slow(100, 5), seconds=15, limit_ms=4000),
    Case("slow-mysqld-killed", "kill -9 of the primary's server amid 200 ms of latency and 1 % loss", "I1 I3 I4", FAILOVER, slow(100, 1, killing("mysql")), expect_async=SERVES, limit_ms=4000),
    Case("calm-30min", "200 ms of latency, 5 % loss, all processors busy, for half an hour: nothing may happen", "I5", NONE, slow(100, 5, load=2), seconds=1800, limit_ms=8000, by_name_only=True),
    # operators, API server
    Case("operator-killed", "kill -9 of the primary's server and, up to 250 ms later, of the leading operator", "I2 I10", SERVES, kill_leader_soon, seconds=30),
    Case("operator-paused", "kill -9 of the server, SIGSTOP of the leader up to 100 ms later, for 30 s: it comes back with old orders", "I2", SERVES, pause_leader, seconds=30, hold=3),
    Case("operator-paused-before", "SIGSTOP of the leader for 30 s, then kill -9 of the server", "I2", SERVES, pause_leader_early, seconds=30),
    Case("operators-gone", "no operator for 8 s", "I6", NONE, kill_operators, seconds=8, max_outage_ms=CALM_MS),
    Case("api-away", "the API server stands still for 15 s", "I6", NONE, api_away(15), seconds=15, max_outage_ms=CALM_MS),
    Case("api-away-mysqld-killed", "and the primary's server is killed meanwhile: nobody can be promoted", "I2", EITHER, api_away(20, killing("mysql")), seconds=20, heal_seconds=90),
    Case("api-away-node-crashed", "and the primary's node crashes meanwhile", "I2", WAITS, api_away(20, crash_node), seconds=15, heal_seconds=120),
    Case("api-away-minutes", "for three minutes, with the primary's server killed", "I2", EITHER, api_away(180, killing("mysql")), seconds=180, heal_seconds=90, by_name_only=True),
    # while something else goes on
    Case("during-clone", "kill -9 of the primary's server while a replica is copied", "I3 I4 I8", FAILOVER, fail_during_clone, expect_async=SERVES, seconds=40, heal_seconds=120),
    Case("during-roll", "while pods are replaced", "I3 I4", EITHER, fail_during_roll, seconds=10, heal_seconds=180),
    Case("during-scale-in", "while the set shrinks", "I3 I4", EITHER, fail_during_scale_in, mend=scale_out_again, seconds=10, heal_seconds=120),
    Case("received-more", "the primary dies; one replica has received all and applied little, the other has applied all of less", "I3 I4", FAILOVER, received_more, verify=first_won),
    Case("clock-of-candidate", "kill -9 of the server while a replica's clock is an hour off", "I4", FAILOVER, killing("mysql"), expect_async=SERVES, prepare=turn_clock, mend=turn_clock_back, needs=needs_faketime),
    Case("clock-of-primary", "the same with the primary's clock", "I4 I5", FAILOVER, killing("mysql"), expect_async=SERVES, prepare=turn_clock_of_primary, mend=turn_clock_back, needs=needs_faketime),
    # orders of people
    Case("failover-disabled", "kill -9 of the server with failover.enabled false", "I5", NONE, killing("mysql"), prepare=disable, mend=enable, seconds=8),
    Case("async-never", "the primary's node crashes, dataLoss never: no replica is certain to have all", "I3 I4", WAITS, crash_node, prepare=forbid_loss, mend=allow_loss, seconds=12, needs=only_async),
]

CASES += [
    Case(f"selftest-{name}", what, "", NONE, act, seconds=1, must_find=text, by_name_only=True)
    for name, what, act, text in [
        ("lost", "an acknowledged row is deleted behind the writer's back", lose_row, "acknowledged rows are lost"),
        ("twice", "a row is written a second time", double_row, "rows twice"),
        ("open", "a replica is opened", open_replica, "two members took writes"),
        ("differ", "a row of a replica is changed", change_replica, "members differ"),
    ]
]

# Each write of a failover by its number. Which one that is, and how many there are, is the operator's business.
KILLS = 6
CASES += [
    Case(f"operator-killed-write-{number}", f"kill -9 of the server, and of the operator right after its write number {number}", "I2 I10", SERVES,
         killing_after_write(number), prepare=operator_by_proxy, verify=was_met(number), seconds=30, heal_seconds=90)
    for number in range(1, KILLS + 1)
]


def print_table(table=CASES):
    print("| case | what is done | tries | expected |")
    print("| --- | --- | --- | --- |")
    for case in table:
        other = f", async: {case.expect_async}" if case.expect_async else ""
        print(f"| `{case.name}` | {case.what} | {case.invariants} | {case.expect}{other} |")
