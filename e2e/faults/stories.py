# SPDX-License-Identifier: Apache-2.0
"""stories: what is done to a cluster, and which faults are tried on each request that the operator makes meanwhile.

A story is a circle of steps over one cluster "db"; each step leads from one settled world to the next. A lane goes round and spoils one request
(or one watch event) of each step. Every step's settled world is known from undisturbed rounds.
"""

CLUSTER = {
    "apiVersion": "kubemysql.dev/v1alpha1",
    "kind": "MysqlCluster",
    "metadata": {"name": "db"},
    "spec": {
        "config": {"name": "faults"},
        "replicas": 2,
        "replication": {"primary": 0},  # who it is must not depend on whose agent speaks first
        "failover": {"silenceMilliseconds": 30000},  # all agents are one process, which may be late
        "database": "shop",
        "username": "shop",
        "terminal": {},
        "mycnf": {"max_connections": 100},
        "storage": {"resources": {"requests": {"storage": "1Gi"}}},
    },
}
CONFIG = {
    "apiVersion": "kubemysql.dev/v1alpha1",
    "kind": "MysqlConfig",
    "metadata": {"name": "faults"},
    "spec": {"images": {"mysql": "registry.local/mariadb:10.11", "agent": "registry.local/kube-mysql-agent:dev"}},
}
CLUSTERS = "/apis/kubemysql.dev/v1alpha1/namespaces/{}/mysqlclusters"


async def create(lane):
    await lane.write("POST", CLUSTERS.format(lane.namespace), CLUSTER)


async def delete(lane):
    await lane.write("DELETE", CLUSTERS.format(lane.namespace) + "/db", {})


async def patch(lane, spec):
    await lane.write("PATCH", CLUSTERS.format(lane.namespace) + "/db", {"spec": spec})


async def roll_there(lane):
    """Only an image replaces pods: agents do not tell what my.cnf they have."""
    await patch(lane, {"mycnf": {"max_connections": 99}, "config": {"spec": {"images": {"mysql": "registry.local/mariadb:10.11-next"}}}})


async def roll_back(lane):
    await patch(lane, {"mycnf": {"max_connections": 100}, "config": {"spec": None}})


async def create_one(lane):
    await lane.write("POST", CLUSTERS.format(lane.namespace), {**CLUSTER, "spec": {**CLUSTER["spec"], "replicas": 1}})


async def clone(lane):
    await patch(lane, {"replicas": 3})


async def switch_over(lane):
    await patch(lane, {"replication": {"primary": 2}})


async def scale_in(lane):
    await patch(lane, {"replicas": 1, "replication": {"primary": 0}})


async def grow(lane):
    """Volumes only ever grow: the size is a placeholder in the dumps."""
    lane.size += 1
    lane.placeholders = {f'"{lane.size}Gi"': '"<size>"'}
    await patch(lane, {"storage": {"resources": {"requests": {"storage": f"{lane.size}Gi"}}}})


async def restart_and_roll(lane, act):
    """The change happens while no operator runs; the new one must see it in its first lists."""
    await lane.stop_operator()
    await act(lane)
    lane.start_operator()


async def restart_there(lane):
    await restart_and_roll(lane, roll_there)


async def restart_back(lane):
    await restart_and_roll(lane, roll_back)


class Step:
    def __init__(self, name, act, replicas, faults="requests", fresh_claims=None, primary=0):
        self.name, self.act = name, act
        self.primary = primary  # ordinal, at the end
        self.replicas = replicas  # cluster members at the end, None: no cluster
        self.faults = faults  # "requests": what it asks and writes by name; "start": discovery, lists, watches
        self.fresh_claims = fresh_claims  # claims left behind by members of this ordinal and above are removed before


# Members that return find the volumes that they left: they are cloned anew, and the claims are the same in every round.
SCALE = [Step("clone", clone, 3), Step("switchover", switch_over, 3, primary=2), Step("scale-in", scale_in, 1)]

# Name, steps that lead to the start, the circle.
STORIES = {
    "life": ([], [Step("create", create, 2, fresh_claims=0), Step("roll", roll_there, 2), Step("delete", delete, None)]),
    "scale": ([Step("prepare", create_one, 1), *SCALE], SCALE),
    "grow": ([Step("prepare", create, 2)], [Step("grow", grow, 2)]),
    "restart": (
        [Step("prepare", create, 2)],
        [Step("restart", restart_there, 2, "start"), Step("restart-back", restart_back, 2, "start")],
    ),
}

# Fault → every how manieth request it is tried on, in a sample.
WRITE_FAULTS = {
    "kill": 1, "drop": 2, "500x6": 3, "409": 3, "cut": 10, "reset": 10, "410": 10, "429": 10, "500": 10, "silence": 12, "mute": 12,
}
READ_FAULTS = {"500x6": 8, "drop": 12, "cut": 12, "429": 12, "500": 12, "silence": 14}
LIST_FAULTS = {"410": 3, "429": 4, "500": 6, "500x6": 4, "cut": 2, "drop": 6, "silence": 6}
WATCH_FAULTS = {"410": 3, "429": 4, "500": 4, "reset": 4}
EVENT_FAULTS = {"watch-cut": 10, "watch-410": 10, "watch-end": 20, "watch-stall": 10}
SLOW = {"silence", "mute"}
THINNER = {"create": 2, "roll": 3, "delete": 2, "clone": 3, "switchover": 2, "scale-in": 3, "grow": 2, "restart-back": 8}


def faults_of(key, step_faults):
    """The table for one request or event, None if this step does not try it."""
    verb = key.split(" ")[0]
    if verb == "EVENT":
        return EVENT_FAULTS if step_faults == "requests" else None
    start = verb in ("LIST", "WATCH") or key.startswith("GET /apis")
    if start != (step_faults == "start"):
        return None
    if verb == "WATCH":
        return WATCH_FAULTS
    if verb in ("GET", "LIST"):
        return LIST_FAULTS if start else READ_FAULTS
    return WRITE_FAULTS


def cases_of(step, keys, full):
    """[(fault, key)]: all of them, or a systematic sample in which each fault begins at another place."""
    cases, met = [], {}
    for key in keys:
        table = faults_of(key, step.faults) or {}
        for offset, (fault, every) in enumerate(table.items()):
            every *= 1 if fault == "kill" else THINNER.get(step.name, 1)
            turn = met.setdefault((id(table), fault), offset)
            met[(id(table), fault)] += 1
            if full or turn % every == 0:
                cases.append((fault, key))
    return cases
