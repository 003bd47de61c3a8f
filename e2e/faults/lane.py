# SPDX-License-Identifier: Apache-2.0
"""lane: one operator, its namespace and its fault proxy, going round one story."""
import asyncio
import json
import os
import re
import signal

import stories
from faultproxy import FaultProxy
from world import check_secrets, condition, time_of_day

QUIET_SECONDS = 0.4
BASELINE_QUIET_SECONDS = 1.2
CASE_SECONDS = 180
SLOW_CASE_SECONDS = 240
SANITIZER = re.compile(r"AddressSanitizer|LeakSanitizer|runtime error:|stack-overflow|Assertion")


class LaneBroken(Exception):
    """The lane is in no known state any more: the next case needs a new one. lane: if it got so far that there is a log."""

    def __init__(self, text, lane=None):
        super().__init__(text)
        self.lane = lane


class Baseline:
    """What an undisturbed run of a step ends in and did on the way."""

    def __init__(self, dump, counts, keys, writes):
        self.dump, self.counts, self.keys, self.writes = dump, counts, keys, writes


class Lane:
    def __init__(self, rig, story, number, slow):
        self.rig, self.story = rig, story
        # Where requests hang, some still do when the operator ends; what waits for them is given up, not leaked.
        self.environment = dict(os.environ, ASAN_OPTIONS="detect_leaks=0") if slow else None
        self.namespace = f"f-{story}-{number}-{os.urandom(2).hex()}"
        self.proxy = FaultProxy(rig.upstream, rig.folder / "proxy.crt", rig.folder / "proxy.key", self.namespace)
        self.proxy.on_kill = self._kill
        self.space = rig.world.spaces[self.namespace]
        self.size = 1
        self.placeholders = {}
        self.process = None
        self.restarter = None
        self.stopping = False
        self.log = open(rig.folder / f"{self.namespace}.log", "ab")
        self.ended_badly = None
        self.checked_secrets = set()
        self.restarts = 0
        self.mark, self.log_mark, self.told = 0, 0, []  # where the step that is under way begins, in the history and in the operator's log

    # ---- the operator ----

    async def start(self):
        await self.proxy.start()
        path = self.rig.folder / f"{self.namespace}.kubeconfig"
        path.write_text(json.dumps({
            "apiVersion": "v1", "kind": "Config", "current-context": "x",
            "contexts": [{"name": "x", "context": {"cluster": "x", "user": "x"}}],
            "clusters": [{"name": "x", "cluster": {"server": f"https://127.0.0.1:{self.proxy.port}", "certificate-authority": str(self.rig.folder / "proxy.crt")}}],
            "users": [{"name": "x", "user": {"token": "none"}}],
        }))
        self.arguments = [
            "setpriv", "--pdeathsig", "KILL", "--", str(self.rig.operator), f"--kubeconfig={path}", "--leader-elect=false", "--metrics-port=0",
            f"--watch-namespaces={self.namespace}", "--log-format=text", "--log-level=info",
        ]
        await self.write("POST", "/api/v1/namespaces", {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": self.namespace}})
        self.start_operator()

    def start_operator(self):
        self.stopping = False
        self.restarts += 1
        self.restarter = asyncio.create_task(self._run_operator())

    async def _run_operator(self):
        self.process = await asyncio.create_subprocess_exec(*self.arguments, stdout=self.log, stderr=self.log, env=self.environment)
        process = self.process
        code = await process.wait()
        if process is self.process and not self.stopping:
            self.ended_badly = f"the operator ended by itself: {code}"

    def _kill(self):
        """SIGKILL, then a new one, as a Deployment would."""
        process, self.process = self.process, None
        process.kill()
        self.start_operator()

    async def stop_operator(self):
        """A decent end; the sanitizers report leaks now."""
        self.stopping = True
        if not self.process or self.process.returncode is not None:
            return
        self.process.send_signal(signal.SIGTERM)
        try:
            code = await asyncio.wait_for(self.process.wait(), 30)
        except asyncio.TimeoutError:
            self.process.kill()
            code = "no end within 30 s of SIGTERM"
        if code != 0:
            self.ended_badly = f"the operator's end: {code}"

    async def close(self):
        await self.stop_operator()
        await self.proxy.stop()
        self.log.close()

    def abort(self):
        self.stopping = True
        if self.process and self.process.returncode is None:
            self.process.kill()

    def log_problems(self):
        text = (self.rig.folder / f"{self.namespace}.log").read_text(errors="replace")
        found = SANITIZER.search(text)
        if not found:
            return []
        return ["sanitizer report:"] + text[max(0, found.start() - 200) : found.start() + 3000].splitlines()

    def log_size(self):
        return (self.rig.folder / f"{self.namespace}.log").stat().st_size

    def log_tail(self, lines=60):
        """What the operator said since the step began, but for what each start says; what it asked for, and what happened to objects."""
        with open(self.rig.folder / f"{self.namespace}.log", errors="replace") as file:
            file.seek(self.log_mark)
            said = [line for line in file.read().splitlines() if "informer synced" not in line]
        seen = sorted(self.space.told(self.mark) + self.told)
        return said[-lines:] + [f"{time_of_day(at)} {what}" for at, what in seen][-2 * lines :]

    # ---- the user ----

    async def write(self, method, path, document):
        """As the user; not through the proxy."""
        kind = "application/merge-patch+json" if method == "PATCH" else "application/json"
        answer = await self.rig.api.request(method, path, {"content-type": kind}, json.dumps(document).encode())
        if answer.status >= 300:
            raise LaneBroken(f"{method} {path}: {answer.status} {answer.body[:300]!r}")

    async def forget_claims(self, first):
        """Claims outlive their members, as they should; the next round begins without those of ordinal `first` and above."""
        claims = self.space.items["persistentvolumeclaims"]
        left = [name for name in claims if int(name.rpartition("-")[2]) >= first]
        for name in left:
            await self.write("DELETE", f"/api/v1/namespaces/{self.namespace}/persistentvolumeclaims/{name}", {})
        for _ in range(400):
            if not any(name in claims for name in left):
                return
            await asyncio.sleep(0.05)
        raise LaneBroken("claims do not go away")

    # ---- the world ----

    def looks_settled(self, step):
        items = self.space.items
        if step.replicas is None:
            return not any(items[kind] for kind in items if kind != "persistentvolumeclaims")
        cluster, terminal = items["mysqlclusters"].get("db"), items["mysqlterminals"].get("db")
        if not cluster or not terminal or len(items["pods"]) != step.replicas + 1:
            return False
        status = cluster.get("status") or {}
        if status.get("currentPrimary") != f"db-mysql-{step.primary}" or status.get("transition"):
            return False
        if step.replicas > 1 and condition(cluster, "Replicated") != "True":
            return False
        return (
            status.get("observedGeneration") == cluster["metadata"]["generation"]
            and status.get("readyReplicas") == step.replicas
            and condition(cluster, "Available") == "True"
            and condition(cluster, "Progressing") == "False"
            and condition(terminal, "Available") == "True"
        )

    def dump(self):
        return self.rig.world.dump(self.namespace, self.placeholders)

    async def settle(self, step, baseline, seconds):
        """Waits for the settled world, equal to the baseline's if there is one, and for quiet. Returns (ok, dump)."""
        loop = asyncio.get_running_loop()
        end = loop.time() + seconds
        quiet = QUIET_SECONDS if baseline else BASELINE_QUIET_SECONDS
        since, dump = loop.time(), []
        while loop.time() < end and not self.ended_badly:
            self.space.changed.clear()
            if self.looks_settled(step):
                dump = self.dump()
                if baseline and dump != baseline.dump:
                    since = loop.time()
            else:
                since = loop.time()
            wait = since + quiet - loop.time()
            if wait <= 0 and loop.time() - self.proxy.last_request > quiet and not self.proxy.pending:
                return True, dump
            try:
                await asyncio.wait_for(self.space.changed.wait(), max(0.02, min(wait, 0.25)))
                if not baseline:
                    since = loop.time()
                await asyncio.sleep(0.01)
            except asyncio.TimeoutError:
                pass
        return False, self.dump()

    async def run(self, step, baseline=None, fault=None):
        """One step, disturbed or not. Returns (problems, Baseline of this run)."""
        if step.fresh_claims is not None:
            await self.forget_claims(step.fresh_claims)
        self.proxy.arm(fault)
        mark = self.mark = len(self.space.history)
        retries = len(self.space.retries)
        self.log_mark = self.log_size()
        await step.act(self)
        slow = fault and fault.kind in stories.SLOW
        ok, dump = await self.settle(step, baseline, SLOW_CASE_SECONDS if slow else CASE_SECONDS)
        if ok and slow and fault.hits:  # what hung comes to life again, late
            self.proxy.hung_may_end.set()
            ok, dump = await self.settle(step, baseline, CASE_SECONDS)
        keys, writes, self.told = self.proxy.seen, self.proxy.writes, self.proxy.told
        self.proxy.arm(None)
        problems = [] if ok else ["the world is not as it should be, or not at rest"]
        if self.ended_badly:
            problems.append(self.ended_badly)
        if not fault or fault.kind == "409":  # the kubelet writes to a pod, too, and a label that is late harms nobody
            problems += [f"a conflict is told of: {text}" for text in self.space.retries[retries:] if text.startswith("Pod ")]
        fleet = self.rig.kubelet.fleet(self.namespace)
        problems += [fleet.problem] if fleet.problem else []
        problems += await check_secrets(self.space, self.rig.folder, self.checked_secrets)
        return problems, Baseline(dump, self.space.counts(mark), keys, writes)
