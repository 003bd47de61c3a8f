# SPDX-License-Identifier: Apache-2.0
"""troubles: faults that end by themselves and that may overlap: each undoes what it did, and only that, after its time.

A Fault is a choice that a seed has made: what, to whom ("primary": who is it then, or a member's number), for how long, and a source of chance for details.
Its function returns a text that says what was done, or raises what the bed raises when it cannot be done (a pod that is not there, an API server that does not
answer): then it is none.
"""
import asyncio
import contextlib
import dataclasses
import os
import random
import signal
import time

from bed import CLUSTER, OPERATORS
from net import Net

STOP, CONT, KILL = signal.SIGSTOP, signal.SIGCONT, signal.SIGKILL
PRIMARY = "primary"
SUCCESSOR_SECONDS = 15
EVICTION_SECONDS = 12
FEWEST_MEMBERS = 2


@dataclasses.dataclass
class Fault:
    kind: str
    target: object  # PRIMARY or a member's number
    seconds: float
    seed: str  # of its own chance


class Troubles:
    """What overlapping faults hold at present, so that the first that ends does not end the others."""

    def __init__(self, bed, count):
        self.bed, self.count = bed, count  # members that the cluster has when nobody scales it
        self.cuts = {}  # by fault: pairs of names
        self.stops = {}  # by what is stopped: how many faults stop it

    def name(self, target):
        primary = self.bed.primary()
        if target == PRIMARY and primary:
            return primary
        number = 0 if target == PRIMARY else target
        return f"{CLUSTER}-mysql-{number}"

    def everybody(self):
        """Pods that are there."""
        return [name for name, pod in list(self.bed.nodes.pods.items()) if pod.address]

    @contextlib.asynccontextmanager
    async def cut(self, pairs, key):
        self.cuts[key] = pairs
        self.bed.net.cut_pairs(pairs)
        try:
            yield
        finally:
            del self.cuts[key]
            self.bed.net.join_pairs(pairs.difference(*self.cuts.values()))

    @contextlib.asynccontextmanager
    async def stopped(self, key, stop, go_on):
        self.stops[key] = self.stops.get(key, 0) + 1
        stop()
        try:
            yield
        finally:
            self.stops[key] -= 1
            if not self.stops[key]:
                go_on()

    async def run(self, fault):
        chance = random.Random(fault.seed)
        return await KINDS[fault.kind].act(self, self.name(fault.target), fault.seconds, chance)


# ---- processes ----

def killing(container):
    async def act(troubles, member, _seconds, _chance):
        troubles.bed.kill(member, container)
        return member
    return act


def freezing(container):
    async def act(troubles, member, seconds, _chance):
        process = troubles.bed.pod(member).containers[container].process
        async with troubles.stopped((member, container, process.pid), lambda: process.send(STOP), lambda: process.send(CONT)):
            await asyncio.sleep(seconds)
        return member
    return act


async def kill_all_servers(troubles, _member, _seconds, _chance):
    killed = []
    for name in troubles.everybody():
        process = troubles.bed.pod(name).containers["mysql"].process
        if process:
            process.kill()
            killed.append(name)
    return ", ".join(killed)


async def kill_and_successor(troubles, member, _seconds, _chance):
    bed = troubles.bed
    bed.kill(member, "mysql")
    if not await bed.api.until("a successor", lambda: bed.primary() not in (None, member), SUCCESSOR_SECONDS):
        return f"{member}, no successor"
    successor = bed.primary()
    bed.kill(successor, "mysql")
    return f"{member}, then {successor}"


# ---- pods and nodes ----

async def delete_pod(troubles, member, _seconds, _chance):
    await troubles.bed.delete_pod(member)
    return member


async def delete_pod_now(troubles, member, _seconds, _chance):
    await troubles.bed.delete_pod(member, 0)
    return member


def losing_node(number):
    """The node's pods are killed or frozen, nobody reaches them, and its kubelet is gone for that time."""
    async def act(troubles, member, seconds, _chance):
        bed = troubles.bed
        node = bed.nodes.node_of(member)
        names = [name for name in troubles.everybody() if bed.nodes.node_of(name) is node]
        pairs = Net.pairs(names, [name for name in list(bed.net.address) if name not in names])

        def stop():
            node.stop()
            for name in names:
                bed.signal_all(name, number)

        def go_on():
            for name in names:
                bed.signal_all(name, CONT)
            node.start()

        async with troubles.cut(pairs, object()), troubles.stopped(node.name, stop, go_on):
            await asyncio.sleep(seconds)
        return f"{node.name}: {', '.join(names)}"
    return act


async def evict(troubles, name):
    """As kubectl drain: again while the budget forbids it."""
    end = time.monotonic() + EVICTION_SECONDS
    while time.monotonic() < end:
        if await troubles.bed.evict(name):
            return "evicted"
        await asyncio.sleep(1)
    return "not evicted"


async def drain_node(troubles, member, seconds, _chance):
    bed = troubles.bed
    node = bed.nodes.node_of(member)
    path = f"/api/v1/nodes/{node.name}"
    names = [name for name in troubles.everybody() if bed.nodes.node_of(name) is node]
    await bed.api.insist("PATCH", path, {"spec": {"unschedulable": True}})
    try:
        said = [f"{name} {await evict(troubles, name)}" for name in names]
        await asyncio.sleep(seconds)
    finally:
        await bed.api.insist("PATCH", path, {"spec": {"unschedulable": None}})
    return ", ".join(said)


# ---- links ----

WAYS = ("both", "out", "in")


async def cut_links(troubles, ones, others, seconds, way):
    pairs = Net.pairs(others, ones, False) if way == "in" else Net.pairs(ones, others, way == "both")
    async with troubles.cut(pairs, object()):
        await asyncio.sleep(seconds)
    return f"{', '.join(ones)} from {', '.join(others)}, {way}"


async def cut_member(troubles, member, seconds, chance):
    others = [name for name in troubles.everybody() if name != member]
    return await cut_links(troubles, [member], others + [*OPERATORS, "api"], seconds, chance.choice(WAYS))


async def cut_replication(troubles, member, seconds, chance):
    """From one other member, or from all."""
    others = sorted(name for name in troubles.everybody() if name != member)
    return await cut_links(troubles, [member], chance.choice([others, [chance.choice(others)]]), seconds, chance.choice(WAYS))


async def cut_operators(troubles, member, seconds, chance):
    """From one member, or from the API server."""
    return await cut_links(troubles, list(OPERATORS), chance.choice([[member], [member], ["api"]]), seconds, chance.choice(WAYS))


async def slow_member(troubles, member, seconds, chance):
    net = troubles.bed.net
    if member in net.slow or member not in net.address:
        raise RuntimeError(f"{member} is slow already, or not there")
    delay, loss = chance.choice([20, 80, 200]), chance.choice([0, 1, 5])
    await asyncio.to_thread(net.slow_down, member, delay, loss)
    process = net.slow[member]
    await asyncio.sleep(seconds)
    if net.slow.get(member) is process:
        net.fast(member)
    return f"{member}: {delay} ms, {loss} %"


# ---- operators and API server ----

async def kill_operators_and_primary(troubles, _member, _seconds, _chance):
    bed = troubles.bed
    for operator in bed.operators.values():
        operator.send(KILL)
    primary = troubles.name(PRIMARY)
    bed.kill(primary, "mysql")
    return f"op-0, op-1, {primary}"


async def kill_operator(troubles, _member, _seconds, chance):
    name = chance.choice(OPERATORS)
    troubles.bed.operators[name].send(KILL)
    return name


async def freeze_operator(troubles, _member, seconds, chance):
    name = chance.choice(OPERATORS)
    operator = troubles.bed.operators[name]
    async with troubles.stopped(name, lambda: operator.send(STOP), lambda: operator.send(CONT)):
        await asyncio.sleep(seconds)
    return name


async def api_away(troubles, _member, seconds, _chance):
    pid = troubles.bed.api_server_pid()
    async with troubles.stopped("api", lambda: os.kill(pid, STOP), lambda: os.kill(pid, CONT)):
        await asyncio.sleep(seconds)
    return "api"


# ---- by order ----

async def switch_over(troubles, member, _seconds, chance):
    """To any member but the primary."""
    others = [f"{CLUSTER}-mysql-{number}" for number in range(troubles.count)]
    target = member if member != troubles.bed.primary() else chance.choice([name for name in others if name != member])
    await troubles.bed.begin_switchover(target)
    return f"to {target}"


async def order(troubles, spec):
    answer = await troubles.bed.api.insist("PATCH", troubles.bed.path(), {"spec": spec})
    if answer.status >= 300:
        raise RuntimeError(f"patch {spec}: {answer.status}")


async def scale(troubles, _member, _seconds, chance):
    now = len(troubles.bed.members())
    wanted = chance.choice([count for count in range(troubles.count - 1, troubles.count + 2) if count != now and count >= FEWEST_MEMBERS])
    await order(troubles, {"replicas": wanted})
    return f"from {now} to {wanted}"


async def roll(troubles, _member, _seconds, chance):
    """By an annotation of the pods, or an option that the servers read at their start."""
    if chance.random() < 0.5:
        await order(troubles, {"podTemplate": {"metadata": {"annotations": {"bed.example/roll": str(time.monotonic_ns())}}}})
        return "template"
    await order(troubles, {"mycnf": {"back_log": chance.randint(60, 200)}})
    return "my.cnf"


@dataclasses.dataclass
class Kind:
    act: object
    weight: int
    seconds: tuple  # (least, most); (0, 0): it is over at once
    what: str


KINDS = {
    "server-killed": Kind(killing("mysql"), 6, (0, 0), "kill -9 of a member's server"),
    "server-frozen": Kind(freezing("mysql"), 5, (1, 8), "SIGSTOP of a member's server for seconds"),
    "agent-killed": Kind(killing("agent"), 4, (0, 0), "kill -9 of a member's agent"),
    "agent-frozen": Kind(freezing("agent"), 2, (1, 8), "SIGSTOP of a member's agent for seconds"),
    "all-servers-killed": Kind(kill_all_servers, 3, (0, 0), "kill -9 of all servers"),
    "killed-and-successor": Kind(kill_and_successor, 4, (0, 0), "kill -9 of a server, and of the next primary's as soon as there is one"),
    "pod-deleted": Kind(delete_pod, 4, (0, 0), "DELETE of a pod"),
    "pod-deleted-now": Kind(delete_pod_now, 4, (0, 0), "DELETE of a pod without grace"),
    "node-crashed": Kind(losing_node(KILL), 4, (4, 12), "a node's pods are killed, its links cut, its kubelet away"),
    "node-frozen": Kind(losing_node(STOP), 2, (3, 10), "a node stands still, its links are cut"),
    "node-drained": Kind(drain_node, 3, (0, 5), "a node is cordoned, its pods are evicted"),
    "member-cut": Kind(cut_member, 4, (2, 10), "a member's links to members, operators and API server are cut, both ways or one"),
    "replication-cut": Kind(cut_replication, 4, (2, 10), "a member's links to one other or all are cut, both ways or one"),
    "operators-cut": Kind(cut_operators, 3, (2, 10), "the operators' links to a member, or to the API server, are cut, both ways or one"),
    "member-slow": Kind(slow_member, 2, (3, 10), "a member's packets are late, some are lost"),
    "operators-and-primary-killed": Kind(kill_operators_and_primary, 4, (0, 0), "kill -9 of both operators and the primary's server"),
    "operator-killed": Kind(kill_operator, 2, (0, 0), "kill -9 of an operator"),
    "operator-frozen": Kind(freeze_operator, 2, (2, 10), "SIGSTOP of an operator for seconds"),
    "api-away": Kind(api_away, 3, (2, 10), "the API server stands still"),
    "switchover": Kind(switch_over, 5, (0, 0), "an order to make another member primary"),
    "scale": Kind(scale, 3, (0, 0), "a member more or less than there were"),
    "roll": Kind(roll, 3, (0, 0), "another template or my.cnf: all pods are replaced"),
}
