# SPDX-License-Identifier: Apache-2.0
"""leader: the driver of leader.sh. Prints what was measured as lines "what, value, unit, aim", separated by tabs."""
import argparse
import asyncio
import pathlib
import os
import signal
import statistics
import sys
import time

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent.parent / "faults"))
import agents  # noqa: E402
import stories  # noqa: E402
from faults import Rig  # noqa: E402
from lane import Lane  # noqa: E402
from world import condition  # noqa: E402

MEMBERS = 3
NAMESPACE = "leader"
WAIT_SECONDS = 60
PAUSE_SECONDS = 9
AWAY_SECONDS = 9


class Failure(Exception):
    pass


class Watched:
    """What agents see: streams that are open, and when each agent's newest one was; orders."""

    def __init__(self):
        self.open, self.newest, self.orders = 0, {}, 0
        stream, take = agents.Agent._stream, agents.Agent.take

        async def watched_stream(agent, writer):
            self.open += 1
            self.newest[agent.fleet.path, agent.name] = time.monotonic()
            try:
                await stream(agent, writer)
            finally:
                self.open -= 1

        def watched_take(agent, body):
            self.orders += 1
            return take(agent, body)

        agents.Agent._stream, agents.Agent.take = watched_stream, watched_take


class Operator:
    number = 0

    def __init__(self, options):
        Operator.number += 1
        self.name = f"op-{Operator.number}"
        self.options = options
        self.log, self.leads_since, self.stands = [], None, False

    async def start(self):
        self.process = await asyncio.create_subprocess_exec(
            "setpriv", "--pdeathsig", "KILL", "--", self.options.operator, f"--kubeconfig={self.options.kubeconfig}", "--leader-namespace=default",
            "--metrics-port=0", "--log-format=text", "--log-level=info", stderr=asyncio.subprocess.PIPE, env={**os.environ, "POD_NAME": self.name},
        )
        self.reader = asyncio.create_task(self._read())

    async def _read(self):
        while line := (await self.process.stderr.readline()).decode(errors="replace"):
            self.log.append(line)
            if " leading " in line:
                self.leads_since = time.monotonic()
            if " leader identity=" in line and self.name not in line:
                self.stands = True

    def send(self, number):
        self.process.send_signal(number)

    async def end(self, expected, seconds=10):
        code = await asyncio.wait_for(self.process.wait(), seconds)
        await self.reader
        if code != expected:
            raise Failure(f"{self.name} ended with {code}, not {expected}:\n{''.join(self.log[-8:])}")

    def kib(self, key):
        for file in ("status", "smaps_rollup"):
            for line in pathlib.Path(f"/proc/{self.process.pid}/{file}").read_text().splitlines():
                if line.startswith(key + ":"):
                    return int(line.split()[1])
        raise Failure(key)


async def until(what, check, seconds=WAIT_SECONDS):
    end = time.monotonic() + seconds
    while not (value := check()):
        if time.monotonic() > end:
            raise Failure(f"waited in vain for: {what}")
        await asyncio.sleep(0.002)
    return value


def tell(what, value, unit, aim=""):
    print(f"{what}\t{value}\t{unit}\t{aim}", flush=True)


def tell_times(what, seconds, aim):
    tell(f"{what}, p50 of {len(seconds)}", round(1000 * statistics.median(seconds)), "ms", aim)
    tell(f"{what}, longest", round(1000 * max(seconds)), "ms")


class Bench:
    def __init__(self, rig, options):
        self.rig, self.options, self.watched = rig, options, Watched()
        self.namespaces = [f"{NAMESPACE}-{i}" for i in range(options.clusters)]
        self.all = MEMBERS * options.clusters
        self.leader = self.standby = None

    async def write(self, method, path, document):
        await Lane.write(self, method, path, document)

    def is_settled(self, namespace):
        cluster = self.rig.world.spaces[namespace].items["mysqlclusters"].get("db") or {}
        status = cluster.get("status") or {}
        return status.get("readyReplicas") == MEMBERS and condition(cluster, "Replicated") == "True"

    async def begin(self):
        spec = {**stories.CLUSTER["spec"], "replicas": MEMBERS}
        self.leader = await self.new_operator()
        for namespace in self.namespaces:
            await self.write("POST", "/api/v1/namespaces", {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": namespace}})
            await self.write("POST", stories.CLUSTERS.format(namespace), {**stories.CLUSTER, "spec": spec})
        await until("the first leader", lambda: self.leader.leads_since)
        await until("replicated clusters", lambda: all(map(self.is_settled, self.namespaces)), 60)
        await self.new_standby()

    async def new_operator(self):
        operator = Operator(self.options)
        await operator.start()
        return operator

    async def new_standby(self):
        self.standby = await self.new_operator()
        await until("a standby", lambda: self.standby.stands)
        await asyncio.sleep(0.5)
        if self.watched.open != self.all:
            raise Failure(f"{self.watched.open} streams to {self.all} agents: the standby has some, or the leader lacks some")

    def all_newer(self, since):
        newest = self.watched.newest.values()
        return len(newest) == self.all and min(newest) >= since and max(newest)

    async def taken_over(self, since):
        """The standby becomes the leader; returns seconds until it leads, and until its streams are open."""
        leads = await until("the other one to lead", lambda: self.standby.leads_since)
        streams = await until("its streams", lambda: self.all_newer(since))
        self.leader, self.standby = self.standby, None
        return leads - since, streams - since

    async def hand_over(self, number, code):
        await asyncio.sleep(0.3 + Operator.number % 10 / 10)  # anywhere between two renewals
        since, old = time.monotonic(), self.leader
        old.send(number)
        times = await self.taken_over(since)
        await old.end(code)
        await self.new_standby()
        return times

    async def rounds(self, what, count, number, code, aims):
        times = [await self.hand_over(number, code) for _ in range(count)]
        tell_times(f"{what}: the other one leads", [leads for leads, _ in times], aims[0])
        tell_times(f"{what}: its streams are open", [streams for _, streams in times], aims[1])

    async def stop_and_go(self):
        """The leader is stopped beyond its lease while there is work to do, then goes on."""
        old, since = self.leader, time.monotonic()
        await self.write("PATCH", stories.CLUSTERS.format(self.namespaces[0]) + "/db", {"spec": {"mycnf": {"max_connections": 100 + Operator.number}}})
        old.send(signal.SIGSTOP)
        await self.taken_over(since)
        await asyncio.sleep(max(0.0, since + PAUSE_SECONDS - time.monotonic()))
        goes_on = time.monotonic()
        old.send(signal.SIGCONT)
        await old.end(1)
        ended = time.monotonic() - goes_on
        await self.new_standby()
        return ended

    async def api_away(self):
        """Longer than the renew deadline: nobody leads, no agent hears anything; then one leads again."""
        old, before = self.leader, self.watched.orders
        os.kill(self.options.api_server, signal.SIGSTOP)
        try:
            since = time.monotonic()
            await old.end(1, AWAY_SECONDS)
            ended = time.monotonic() - since
            replacement = await self.new_operator()
            await asyncio.sleep(max(0.0, AWAY_SECONDS - ended))
            if self.watched.orders != before or self.watched.open:
                raise Failure(f"{self.watched.orders - before} orders, {self.watched.open} streams while nobody may lead")
        finally:
            os.kill(self.options.api_server, signal.SIGCONT)
        back = time.monotonic()
        candidates = (self.standby, replacement)
        self.leader = await until("one to lead again", lambda: next((each for each in candidates if each.leads_since), None))
        self.standby = candidates[1 - candidates.index(self.leader)]
        await until("its streams", lambda: self.all_newer(back))
        await until("the other one to stand by", lambda: self.standby.stands)
        tell("API server away: the leader ends after", round(1000 * ended), "ms")
        tell("  from its return until one leads again", round(1000 * (self.leader.leads_since - back)), "ms")

    def words(self):
        cluster = self.rig.world.spaces[self.namespaces[0]].items["mysqlclusters"].get("db") or {}
        status = cluster.get("status") or {}
        return f"{self.watched.orders} orders; {status}"

    def memory(self):
        for what, operator in (("leader", self.leader), ("standby", self.standby)):
            tell(f"{what}: resident", f"{operator.kib('VmRSS') / 1024:.2f}", "MiB", 8 if what == "standby" else "")
            tell("  anonymous", f"{operator.kib('RssAnon') / 1024:.2f}", "MiB")

    async def run(self):
        await self.begin()
        await self.rounds("SIGTERM", self.options.terms, signal.SIGTERM, 0, (100, 200))
        await self.rounds("kill -9", self.options.kills, signal.SIGKILL, -9, (6000, 6200))
        ended = [await self.stop_and_go() for _ in range(self.options.pauses)]
        if ended:
            tell(f"stopped for {PAUSE_SECONDS} s: the old leader ends after, longest of {len(ended)}", round(1000 * max(ended)), "ms", 100)
        await self.api_away()
        await asyncio.sleep(3)
        self.memory()
        for namespace in self.namespaces:
            problem = self.rig.kubelet.fleet(namespace).problem
            if problem or not self.is_settled(namespace):
                raise Failure(problem or f"{namespace} is not as it should be")


async def main():
    parser = argparse.ArgumentParser()
    for name in ("operator", "kubeconfig", "work"):
        parser.add_argument(f"--{name}", required=True)
    for name in ("api-server", "terms", "kills", "pauses", "clusters"):
        parser.add_argument(f"--{name}", type=int, required=True)
    options = parser.parse_args()
    rig = Rig(options)
    await rig.start()
    bench = Bench(rig, options)
    try:
        await bench.run()
    except (Failure, asyncio.TimeoutError) as problem:
        print(f"FAILED: {problem!r}")
        print(bench.words())
        for operator in (bench.leader, bench.standby):
            print("".join(operator.log[-8:]) if operator else "")
        return 1
    finally:
        for operator in (bench.leader, bench.standby):
            if operator and operator.process.returncode is None:
                operator.send(signal.SIGKILL)
        rig.stop()
    return 0


sys.exit(asyncio.run(main()))
