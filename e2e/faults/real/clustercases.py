# SPDX-License-Identifier: Apache-2.0
"""clustercases: the faults of the bed on the local Kubernetes, in the words of the fast bed's (../bed/cases.py)."""
import asyncio
import random
import signal
import time

from bed import CLUSTER
from cases import EITHER, FAILOVER, NONE, Case, at_once, delete_pod, delete_pod_now, freezing, kill_all, killing, nothing, two_failures
from watchers import DIRECT, SERVICE

from machines import pids_in, send

INSIDE = 1000000  # added to the cycle's number: the rows of clients on the primary's node
LONG_SECONDS = 75  # more than node-monitor-grace-period and the tolerations of pods together (e2e/cluster/lib/kube.sh)


async def on_its_own(bed):
    await bed.place(with_leader=False)


async def with_the_leader(bed):
    await bed.place(with_leader=True)


async def spread(bed):
    """Members of a cluster prefer different nodes."""
    nodes = {name: bed.pod(name).node for name in bed.members()}
    return [] if len(set(nodes.values())) == len(nodes) else [f"members share nodes: {nodes}"]


# ---- nodes ----

async def crash_node(bed):
    machine = bed.machine(bed.old)
    at_once(bed)
    machine.cut()
    await asyncio.to_thread(machine.crash)


async def freeze_node(bed):
    machine = bed.machine(bed.old)
    at_once(bed)
    machine.cut()
    await asyncio.to_thread(machine.freeze)


async def cut_node(bed):
    """The primary lives, and so do clients on its node, whose kube-proxy hears of no new route."""
    machine, watchers = bed.machine(bed.old), bed.watchers
    pairs = [SERVICE, bed.nodes.routed[0], DIRECT, bed.old]
    await watchers._spawn("inside", machine.words_inside() + watchers.words(bed.folder, INSIDE + watchers.cycle, pairs))
    if not await bed.api.until("writes from inside", lambda: len(inside_acks(bed)) > 20, 10):
        raise RuntimeError("clients on the primary's node do not write")
    at_once(bed)
    machine.cut()


def inside_acks(bed):
    """(thread, seq, start, end, server) of what clients on the primary's node were told is done."""
    lines = (bed.watchers.folder / "inside").read_text().splitlines(keepends=True)
    found = [tuple(map(int, line.split())) for line in lines if line.endswith("\n")]
    return [(thread, seq, start, end, server) for thread, seq, start, end, result, server, _ in found if result == 0 and seq]


async def nothing_acknowledged_inside(bed):
    old = bed.watchers.server_before(bed.fault_ns)
    acks = inside_acks(bed)
    elsewhere = [each.end for each in bed.watchers.acks if each.server != old and each.start > bed.fault_ns]
    by_old = [end for _, _, _, end, server in acks if server == old]
    late = [end for end in by_old if elsewhere and end > min(elsewhere) and end > bed.fault_ns]
    problems = [f"I1: {len(late)} acknowledgements by the cut-off primary after the failover"] if late else []
    print(f"         : clients inside: {len(by_old)} rows acknowledged, the last {(max(by_old) - bed.fault_ns) / 1e6:.0f} ms after the cut", flush=True)
    for name in bed.members():
        rows = {(int(thread), int(seq)) for thread, seq in await bed.sql(name, f"SELECT thread, seq FROM shop.w WHERE cycle = {INSIDE + bed.watchers.cycle}", 60)}
        missing = {(thread, seq) for thread, seq, *_ in acks} - rows
        if missing:
            problems.append(f"I3: {name} lacks {len(missing)} rows acknowledged to clients on the primary's node")
    return problems


async def crash_all(bed):
    """All that can be: node1 is the machine itself, so of its member only the pod."""
    at_once(bed)
    for machine in bed.machines.values():
        if machine.number > 1:
            machine.cut()
    await asyncio.gather(*(asyncio.to_thread(machine.crash) for machine in bed.machines.values() if machine.number > 1))
    for member in bed.members():
        if bed.pod(member).node == "node1":
            send(bed.pod(member).pids(), signal.SIGKILL)
    await asyncio.sleep(8)
    await asyncio.gather(*(asyncio.to_thread(machine.restore) for machine in bed.machines.values()))


async def kill_daemons(bed):
    at_once(bed)
    bed.machine(bed.old).kill_daemons("kubelet", "containerd")


# ---- pods ----

async def delete_all_now(bed):
    at_once(bed)
    await asyncio.gather(*(bed.delete_pod(name, 0) for name in bed.members()))


# ---- API server ----

async def away_then_kill(bed):
    send([bed.api_server_pid()], signal.SIGSTOP)
    bed.later(12, send, [bed.api_server_pid()], signal.SIGCONT)
    await asyncio.sleep(2)
    at_once(bed)
    bed.kill(bed.old, "mysql")


async def away_then_crash(bed):
    send([bed.api_server_pid()], signal.SIGSTOP)
    bed.later(12, send, [bed.api_server_pid()], signal.SIGCONT)
    await asyncio.sleep(2)
    await crash_node(bed)


async def kill_leader_too(bed):
    leader = await bed.leader()
    at_once(bed)
    bed.kill(bed.old, "mysql")
    await asyncio.sleep(random.uniform(0, 0.25))
    send(pids_in(leader.containers["operator"].process.pattern), signal.SIGKILL)


# ---- a copy ----

async def fail_during_scale_out(bed):
    await bed.patch({"replicas": 4})
    member = f"{CLUSTER}-mysql-3"
    if not await bed.api.until("a copy", lambda: bed.seeding(member), 60):
        raise RuntimeError(f"{member} does not copy: {bed.why()}")
    at_once(bed)
    bed.kill(bed.old, "mysql")


async def scale_in_again(bed):
    """When the new member is whole; its volume goes, so that the next one copies again."""
    began = time.monotonic()
    if not await bed.healthy(120):
        raise RuntimeError(f"the new member is not healthy: {bed.why()}")
    print(f"         : four members are healthy {time.monotonic() - began:.1f} s later", flush=True)
    member = f"{CLUSTER}-mysql-3"
    rows = {name: await bed.sql(name, "SELECT COUNT(*) FROM shop.ballast") for name in bed.members()}
    if len({str(each) for each in rows.values()}) > 1:
        raise RuntimeError(f"copies differ: {rows}")
    await bed.patch({"replicas": 3})
    if not await bed.api.until("one less", lambda: not bed.pod(member), 60):
        raise RuntimeError(f"{member} does not go")
    await bed.api.insist("DELETE", f"/api/v1/namespaces/bed/persistentvolumeclaims/data-{member}", {})


async def ballast(bed):
    """So that a copy takes a while."""
    await bed.sql(bed.primary(), "CREATE TABLE IF NOT EXISTS shop.ballast (n BIGINT AUTO_INCREMENT PRIMARY KEY, filler VARCHAR(1000))")
    if (await bed.sql(bed.primary(), "SELECT COUNT(*) FROM shop.ballast"))[0][0] == "0":
        await bed.sql(bed.primary(), "INSERT INTO shop.ballast (filler) VALUES (REPEAT('x', 1000))")
        for _ in range(17):
            await bed.sql(bed.primary(), "INSERT INTO shop.ballast (filler) SELECT filler FROM shop.ballast", 60)


CASES = [
    Case("none", "no fault; members are on different nodes", "I1", NONE, nothing, seconds=2, max_outage_ms=500, verify=spread),
    # processes and pods
    Case("mysqld-killed", "kill -9 of the primary's server", "I1 I2 I3 I4", FAILOVER, killing("mysql")),
    Case("agent-killed", "kill -9 of the primary's agent", "I5", NONE, killing("agent"), seconds=5, max_outage_ms=500),
    Case("mysqld-frozen-10s", "SIGSTOP of the primary's server for 10 s", "I1 I3 I4", FAILOVER, freezing(10), fenced_by_acks=True),
    Case("two-failures-2s", "kill -9 of the primary's server and, 2 s later, of its successor's", "I1 I3 I4", EITHER, two_failures, seconds=15, heal_seconds=120),
    Case("pod-deleted", "the primary's pod is deleted", "I1 I3", FAILOVER, delete_pod, seconds=30, heal_seconds=90),
    Case("pod-deleted-now", "the same without grace", "I1 I3 I4", FAILOVER, delete_pod_now, seconds=30, heal_seconds=90),
    Case("all-killed", "kill -9 of everything in all pods at once", "I3 I4 I8", EITHER, kill_all, seconds=10, heal_seconds=150),
    Case("all-deleted-now", "all pods deleted at once without grace", "I3 I4 I8", EITHER, delete_all_now, seconds=10, heal_seconds=150),
    # nodes
    Case("node-crashed", "the primary's node stops: cable pulled, kubelet, containerd and all containers killed; it comes back", "I1 I3 I5", FAILOVER, crash_node,
         prepare=on_its_own, hold=2, heal_seconds=120),
    Case("node-crashed-long", f"the same, back after {LONG_SECONDS} s, when its pods have been given up", "I1 I3 I5 I11", FAILOVER, crash_node,
         prepare=on_its_own, hold=LONG_SECONDS, heal_seconds=180),
    Case("node-frozen", "all of the primary's node stands still for some seconds, cable pulled", "I1 I3 I5", FAILOVER, freeze_node,
         prepare=on_its_own, hold=4, heal_seconds=120, fenced_by_acks=True),
    Case("node-cut", "the cable alone: primary and clients on its node live on", "I1 I3 I5", FAILOVER, cut_node, prepare=on_its_own, hold=6,
         heal_seconds=120, fenced_by_acks=True, verify=nothing_acknowledged_inside),
    Case("node-crashed-with-leader", "the primary's node with the leading operator on it", "I1 I2 I3 I5", FAILOVER, crash_node, prepare=with_the_leader,
         hold=2, seconds=45, heal_seconds=150),
    Case("node-cut-with-leader", "its cable alone", "I1 I2 I3 I5", FAILOVER, cut_node, prepare=with_the_leader, hold=6, seconds=45, heal_seconds=150,
         fenced_by_acks=True, verify=nothing_acknowledged_inside),
    Case("daemons-killed", "kubelet and containerd of the primary's node killed: it serves on", "I5", NONE, kill_daemons, prepare=on_its_own, seconds=25,
         heal_seconds=120, max_outage_ms=500),
    Case("daemons-killed-long", f"for {LONG_SECONDS} s: Kubernetes gives the pods up", "I5", EITHER, kill_daemons, prepare=on_its_own, seconds=LONG_SECONDS,
         heal_seconds=180),
    Case("all-nodes-crashed", "all members' nodes stop, and are back 8 s later", "I3 I4 I8", EITHER, crash_all, seconds=5, heal_seconds=180),
    # operators, API server
    Case("operator-killed", "kill -9 of the primary's server and, up to 250 ms later, of the leading operator: kubelet may be first", "I2 I10", EITHER, kill_leader_too,
         seconds=30, heal_seconds=90),
    Case("api-away-mysqld-killed", "the API server stands still for 12 s, the primary's server is killed meanwhile", "I2", EITHER, away_then_kill, seconds=20,
         heal_seconds=120),
    Case("api-away-node-crashed", "and its node stops meanwhile", "I2", FAILOVER, away_then_crash, prepare=on_its_own, seconds=75, hold=2, heal_seconds=150),
    # a copy
    Case("during-scale-out", "kill -9 of the primary's server while a fourth member is copied", "I3 I4 I8", FAILOVER, fail_during_scale_out, prepare=ballast,
         mend=scale_in_again, seconds=30, heal_seconds=120),
]
