# SPDX-License-Identifier: Apache-2.0
"""bed: three servers, three agents, two operators and a control plane on one machine, set up once for many faults."""
import asyncio
import contextlib
import json
import os
import pathlib
import re
import shutil
import signal
import subprocess
import time

from api import CORE, NAMESPACE, OURS, Api
from box import Image, empty_volume, fill_volume, freeze_volume
from floor import Floor
from net import Net, inside, run
from nodes import Nodes, ordinal_of
from watchers import Load, Watchers
from writeproxy import WriteProxy

CLUSTER = "db"
OPERATOR_NAMESPACE = "kube-mysql-system"
OPERATORS = ("op-0", "op-1")
# Servers that are small, and do not close the door to a host whose connections were cut too often.
MYCNF = {"innodb_buffer_pool_size": "48M", "max_connect_errors": 1000000, "max_connections": 100}
MYCNF_OF = {"mariadb": {"innodb_log_file_size": "32M"}, "mysql": {"innodb_redo_log_capacity": "64M"}}
HEALTHY_SECONDS, FIRST_SECONDS = 90, 480
LEASES = f"/apis/coordination.k8s.io/v1/namespaces/{OPERATOR_NAMESPACE}/leases"
OPERATOR_RESTART_SECONDS = 1
CONTROL_PLANE_ATTEMPTS = 4


def send_all(pids, number):
    """Some may have ended meanwhile."""
    for pid in pids:
        with contextlib.suppress(ProcessLookupError):
            os.kill(pid, number)


class Operator:
    """A process that is started again when it ends, as a Deployment would."""

    def __init__(self, bed, name):
        self.bed, self.name = bed, name
        self.process = self.keeper = None
        self.server = None  # (URL, certificate) of what stands for the API server, if it is not the usual one

    async def start(self):
        await self._spawn()
        self.keeper = asyncio.create_task(self._keep())

    async def _spawn(self):
        config = self.bed.operator_config(self.name, self.server)
        log = open(self.bed.folder / f"{self.name}.log", "ab")
        self.process = await asyncio.create_subprocess_exec(
            *inside(self.name), "env", "-i", "PATH=/usr/bin:/bin", f"POD_NAME={self.name}", str(self.bed.folder / "kube-mysql-operator"),
            f"--kubeconfig={config}", f"--leader-namespace={OPERATOR_NAMESPACE}", "--lease-duration=3s", "--renew-deadline=2s", "--retry-period=500ms",
            "--metrics-port=0", "--log-format=text", *self.bed.options.operator_flags.split(),
            stdin=subprocess.DEVNULL, stdout=log, stderr=log, start_new_session=True,
        )
        log.close()

    async def _keep(self):
        while True:
            await self.process.wait()
            await asyncio.sleep(OPERATOR_RESTART_SECONDS)
            await self._spawn()

    def send(self, number):
        if self.process and self.process.returncode is None:
            send_all([self.process.pid], number)

    async def stop(self):
        """Does not come back before start."""
        if self.keeper:
            self.keeper.cancel()
            await asyncio.gather(self.keeper, return_exceptions=True)
            self.keeper = None
        self.send(signal.SIGKILL)
        if self.process:
            await self.process.wait()


class Bed:
    def __init__(self, options):
        self.options = options
        self.folder = pathlib.Path(options.work)
        self.flavour, self.mode = options.flavour, options.mode
        self.net = Net(options.tools)
        self.operators = {name: Operator(self, name) for name in OPERATORS}
        self.image = self.api = self.nodes = None
        self.environment = {}
        self.full, self.frozen, self.jobs, self.loads = set(), set(), [], []
        self.old, self.fault_ns = None, 0
        self.proxy = self.floor = None
        self.root_password = self.user_password = self.last_why = ""
        self.statuses = None

    # ---- up and down ----

    async def start(self):
        began = time.monotonic()
        self.net.start()
        root = "/" if self.flavour == "mariadb" else self.options.mysql_root
        self.image = Image(self.flavour, root, self.folder, f"{self.options.build}/kube-mysql-agent")
        run("mount", "--bind", str(self.image.hosts), "/etc/hosts")
        shutil.copy(f"{self.options.build}/kube-mysql-operator", self.folder)
        kubeconfig = await asyncio.to_thread(self._control_plane)
        self.api = Api(kubeconfig, self.folder)
        self.nodes = Nodes(self.api, self.net, self.image, self.folder, CLUSTER)
        await self._objects()
        await self.api.start()
        await self.nodes.start()
        for operator in self.operators.values():
            await operator.start()
        await self._create()
        print(f"bed: {self.flavour} {self.mode} stands after {time.monotonic() - began:.1f} s, logs in {self.folder}", flush=True)

    def _control_plane(self):
        self.environment = dict(
            os.environ, KM_RUN=str(self.folder / "control"), KM_LIGHT_BIND="0.0.0.0", INSTANCE="bed", KM_AUDIT="0",
        )
        if self.options.etcd == "memory":
            state = self.folder / "control-light-bed"
            state.mkdir()
            run("mount", "-t", "tmpfs", "etcd", str(state))
        for attempts_left in range(CONTROL_PLANE_ATTEMPTS - 1, -1, -1):  # the next one goes on where the last one lost patience
            done = subprocess.run(
                inside("api") + ["e2e/cluster/control-plane.sh", "up"], env=self.environment, stdout=subprocess.PIPE, text=True,
                stderr=open(self.folder / "control-plane.log", "a", encoding="utf-8"),
            )
            if done.returncode == 0:
                break
            if not attempts_left:
                raise RuntimeError(f"the control plane does not start: {self.folder}/control-plane.log")
        output = done.stdout.strip()
        config = self.folder / "kubeconfig"
        config.write_text(pathlib.Path(output).read_text().replace("127.0.0.1", self.net.address["api"]))
        return str(config)

    def api_server_pid(self):
        return int((self.folder / "control-light-bed/pids/apiserver").read_text().split()[0])

    def kubectl(self, *words, stdin=None):
        return run("kubectl", f"--kubeconfig={self.folder}/kubeconfig", "--request-timeout=20s", *words, stdin=stdin)

    async def _objects(self):
        files = [f"crds/{name}.yaml" for name in ("mysqlclusters", "mysqlconfigs", "mysqlterminals", "mysqlbackups")]
        files += [
            f"deploy/operator/{name}.yaml" for name in ("namespace", "service_account", "cluster_role", "leader_role")
        ]
        await asyncio.to_thread(self.kubectl, "apply", *(word for file in files for word in ("-f", file)))
        await asyncio.to_thread(self.kubectl, "wait", "--for=condition=Established", "crd", "--all", "--timeout=30s")
        await asyncio.to_thread(self.kubectl, "create", "namespace", NAMESPACE)
        image = {"mariadb": "registry.local/mariadb:10.11", "mysql": "registry.local/mysql:9.7"}[self.flavour]
        await self.api.insist("POST", "/apis/kubemysql.dev/v1alpha1/mysqlconfigs", {
            "apiVersion": "kubemysql.dev/v1alpha1", "kind": "MysqlConfig", "metadata": {"name": "bed"},
            "spec": {"images": {"mysql": image, "agent": "registry.local/kube-mysql-agent:dev"}},
        })

    def operator_config(self, name, server=None):
        text = (self.folder / "kubeconfig").read_text()
        if server:
            url, authority = server
            text = re.sub(r'server: "[^"]*"', f'server: "{url}"', text)
            text = re.sub(r"certificate-authority-data: [^ }]*", f"certificate-authority: {authority}", text)
        path = self.folder / f"{name}.kubeconfig"
        path.write_text(text)
        return path

    async def _create(self):
        spec = {
            "config": {"name": "bed"}, "replicas": 3, "replication": {"mode": self.mode}, "database": "shop", "username": "shop",
            "failover": {"dataLoss": "never" if self.mode == "semiSync" else "allow"}, "mycnf": {**MYCNF, **MYCNF_OF[self.flavour]}, "storage": {"resources": {"requests": {"storage": "1Gi"}}},
        }
        spec.update(json.loads(self.options.spec))
        answer = await self.api.send("POST", f"{OURS}/mysqlclusters", {
            "apiVersion": "kubemysql.dev/v1alpha1", "kind": "MysqlCluster", "metadata": {"name": CLUSTER}, "spec": spec,
        })
        if answer.status >= 300:
            raise RuntimeError(f"MysqlCluster: {answer.body[:500]!r}")
        if not await self.healthy(FIRST_SECONDS):
            raise RuntimeError(f"the cluster does not become healthy: {self.why()}")
        self.root_password = self.api.secret(f"{CLUSTER}-mysql-accounts", "root").decode()
        self.user_password = self.api.secret(f"{CLUSTER}-mysql-accounts", "user").decode()
        (self.folder / "password").write_text(self.user_password + "\n")
        (self.folder / "root.cnf").write_text(f'[client]\nuser=root\npassword="{self.root_password}"\n')
        (self.folder / "root.cnf").chmod(0o600)
        await self.sql(self.primary(), (
            "CREATE TABLE shop.w (n BIGINT AUTO_INCREMENT PRIMARY KEY, cycle INT NOT NULL, thread INT NOT NULL, seq BIGINT NOT NULL,"
            " filler VARCHAR(100) NOT NULL DEFAULT 'abcdefghijklmnopqrstuvwxyzabcdefghijklmnopqrstuvwxyz', KEY (cycle, thread, seq));"
            "CREATE TABLE shop.probe (n INT)"
        ))

    async def stop(self):
        """Only what would cry meanwhile; the rest ends with the bed's namespaces. What hangs on a frozen disk would not."""
        self.thaw_disks()
        for task in [self.nodes, self.api]:
            if task:
                task.stop()
        for operator in self.operators.values():
            await operator.stop()

    # ---- what is so ----

    def cluster(self):
        return self.api.items["mysqlclusters"].get(CLUSTER) or {}

    def status(self):
        return self.cluster().get("status") or {}

    def primary(self):
        return self.status().get("currentPrimary")

    def members(self):
        return [f"{CLUSTER}-mysql-{number}" for number in range(self.cluster().get("spec", {}).get("replicas", 3))]

    def replicas(self):
        return [name for name in self.members() if name != self.primary()]

    def pod(self, name):
        return self.nodes.pods.get(name)

    def condition(self, kind):
        return next((each["status"] for each in self.status().get("conditions") or [] if each["type"] == kind), None)

    def why(self):
        """Why the cluster is not healthy; empty if it is."""
        status, members = self.status(), self.members()
        pods = [self.pod(name) for name in members]
        if status.get("observedGeneration") != self.cluster().get("metadata", {}).get("generation"):
            return "the operator has not seen the newest spec"
        if self.condition("Accepted") != "True":
            return f"the spec is not accepted: {[each.get('message') for each in status.get('conditions') or [] if each['type'] == 'Accepted']}"
        if status.get("state") != "Healthy" or status.get("transition") or status.get("readyReplicas") != len(members):
            texts = [f"{each['type']}: {each.get('reason')}: {each.get('message')}" for each in status.get("conditions") or [] if each["type"] != "Accepted"]
            return f"state {status.get('state')}, {status.get('readyReplicas')} ready, transition {status.get('transition')}, {texts}"
        if self.condition("Progressing") != "False":  # between two steps of a roll all members are ready
            return f"in progress: {[each.get('message') for each in status.get('conditions') or [] if each['type'] == 'Progressing']}"
        if self.condition("Replicated") != "True" or (self.mode == "semiSync" and not status.get("semiSync")):
            return f"Replicated {self.condition('Replicated')}, semiSync {status.get('semiSync')}"
        if not all(pod and pod.ready and not pod.ended for pod in pods):
            return "not all pods are ready"
        if not self.pod(self.primary()) or self.nodes.routed[1] != self.pod(self.primary()).address:
            return f"the route leads to {self.nodes.routed}"
        return ""

    async def healthy(self, seconds=HEALTHY_SECONDS):
        def is_healthy():
            why = self.why()
            self.last_why = why or self.last_why
            return not why

        return await self.api.until("healthy", is_healthy, seconds)

    @staticmethod
    def path():
        return f"{OURS}/mysqlclusters/{CLUSTER}"

    def note_statuses(self):
        """From now on every status of the cluster is a line of records/statuses: time of day, what the operator wrote."""
        path = self.folder / "records" / "statuses"
        path.write_text("")
        if not self.statuses:
            self.api.listeners.append(self._note_status)
        self.statuses = path

    def _note_status(self, _change, kind, item):
        if kind == "mysqlclusters":
            with open(self.statuses, "a", encoding="utf-8") as file:
                told = {"spec": {"replicas": item["spec"].get("replicas")}, "annotations": item["metadata"].get("annotations"), "status": item.get("status")}
                file.write(f"{time.strftime('%H:%M:%S', time.gmtime())} {time.time():.3f} {json.dumps(told)}\n")

    def watch(self, cycle, limit_ms, load=Load()):
        return Watchers(self, cycle, limit_ms, load)

    async def fetch_logs(self):
        """They are written to the bed's folder as they come."""

    # ---- what is done ----

    async def sql(self, member, text, seconds=20):
        """As root over the member's socket; lines of tab-separated fields. Raises RuntimeError."""
        pod = self.pod(member)
        if not pod:
            raise RuntimeError(f"{member} is not there")
        return await self.ask(pod.socket(), member, text, seconds)

    async def ask(self, socket, member, text, seconds):
        process = await asyncio.create_subprocess_exec(
            "mariadb", f"--defaults-file={self.folder}/root.cnf", f"--socket={socket}", "--connect-timeout=3", "-N", "-B", "-e", text,
            stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.PIPE,
        )
        try:
            output, errors = await asyncio.wait_for(process.communicate(), seconds)
        except asyncio.TimeoutError as error:
            os.kill(process.pid, signal.SIGKILL)
            await process.wait()
            raise RuntimeError(f"{member}: no answer in {seconds} s to {text[:80]}") from error
        if process.returncode:
            raise RuntimeError(f"{member}: {errors.decode(errors='replace').strip()[:300]}")
        return [line.split("\t") for line in output.decode().splitlines()]

    async def patch(self, spec):
        answer = await self.api.send("PATCH", f"{OURS}/mysqlclusters/{CLUSTER}", {"spec": spec})
        if answer.status >= 300:
            raise RuntimeError(f"patch {spec}: {answer.body[:300]!r}")

    async def delete_pod(self, name, grace=None):
        await self.api.insist("DELETE", f"{CORE}/pods/{name}", {} if grace is None else {"gracePeriodSeconds": grace})

    async def evict(self, name):
        """As kubectl drain does, once; returns whether the budget allowed it."""
        eviction = {"apiVersion": "policy/v1", "kind": "Eviction", "metadata": {"name": name}}
        return (await self.api.send("POST", f"{CORE}/pods/{name}/eviction", eviction)).status < 300

    async def renew(self, member):
        """A new pod for it, and health after that."""
        uid = self.pod(member).uid
        await self.delete_pod(member)
        if not await self.api.until("a new pod", lambda: self.pod(member) and self.pod(member).uid != uid, 60) or not await self.healthy():
            raise RuntimeError(f"{member} does not come back: {self.why()}")

    def kill(self, member, container, number=signal.SIGKILL):
        process = self.pod(member).containers[container].process
        send_all(process.tree() if number == signal.SIGKILL else process.tree()[:1], number)

    def signal_all(self, member, number):
        send_all(self.pod(member).pids() if self.pod(member) else [], number)

    def stop_node(self, member):
        """Frozen, and nobody hears of it."""
        self.nodes.node_of(member).stop()
        self.signal_all(member, signal.SIGSTOP)
        others = [name for name in list(self.net.address) if name != member]
        self.net.cut([member], others)

    def start_node(self, member):
        self.signal_all(member, signal.SIGCONT)
        self.nodes.node_of(member).start()

    async def leader(self):
        """The operator that holds the lease; None: nobody does."""
        answer = await self.api.send("GET", LEASES)
        holders = [(item.get("spec") or {}).get("holderIdentity") or "" for item in answer.json().get("items", [])]
        return next((operator for name, operator in self.operators.items() for holder in holders if holder.startswith(name)), None)

    async def lose_volume(self, member):
        """As a person who gives up a node would: its claim and its pod are deleted."""
        await self.api.insist("DELETE", f"{CORE}/persistentvolumeclaims/data-{member}", {})
        await self.delete_pod(member)

    def seeding(self, member):
        """Whether the operator sees it make its data."""
        return any(each.get("name") == member and each.get("phase") == "Seeding" for each in self.status().get("instances") or [])

    async def begin_switchover(self, member):
        patch = {"metadata": {"annotations": {"kubemysql.dev/switchover-to": member}}}
        await self.api.insist("PATCH", f"{OURS}/mysqlclusters/{CLUSTER}", patch)

    async def switch_over(self, member):
        await self.begin_switchover(member)
        if not await self.api.until("a switchover", lambda: self.primary() == member, 60) or not await self.healthy():
            raise RuntimeError(f"no switchover to {member}: {self.why()}")
        await self.forget_switchover()

    async def forget_switchover(self):
        patch = {"metadata": {"annotations": {"kubemysql.dev/switchover-to": None}}}
        await self.api.insist("PATCH", f"{OURS}/mysqlclusters/{CLUSTER}", patch)

    def fill_disk(self, member):
        fill_volume(self.pod(member).volume)
        self.full.add(self.pod(member).volume)

    async def freeze_disk(self, member):
        volume = self.pod(member).volume
        self.frozen.add(volume)
        await asyncio.to_thread(freeze_volume, volume, True)

    def thaw_disks(self):
        for volume in self.frozen:
            with contextlib.suppress(OSError):  # it was not frozen yet
                freeze_volume(volume, False)
        self.frozen = set()

    def later(self, seconds, what, *arguments):
        """`what` happens then, in any case before the fault is undone."""
        async def job():
            await asyncio.sleep(seconds)
            what(*arguments)

        self.jobs.append(asyncio.create_task(job()))

    async def undo(self):
        """Whatever a fault left: links, frozen processes, stopped nodes, operators, full disks."""
        await asyncio.gather(*self.jobs, return_exceptions=True)
        self.jobs = []
        for process in self.loads:
            os.kill(process.pid, signal.SIGKILL)
            await process.wait()
        self.loads = []
        os.kill(self.api_server_pid(), signal.SIGCONT)
        self.net.heal()
        self.thaw_disks()
        for member in list(self.nodes.pods):
            self.start_node(member)
        for volume in self.full:
            empty_volume(volume)
        self.full = set()
        for operator in self.operators.values():
            operator.send(signal.SIGCONT)
            if not operator.keeper or operator.server:
                await operator.stop()
                operator.server = None
                await operator.start()

    async def operator_by_proxy(self):
        """op-0 leads, and all it says to the API server goes through a WriteProxy; op-1 stands by."""
        if not self.proxy:
            self.proxy = WriteProxy(self)
            await self.proxy.start()
        first = self.operators["op-0"]
        for operator in self.operators.values():
            await operator.stop()
        await self.api.insist("DELETE", f"{LEASES}/kube-mysql-operator", {})  # else they would wait until the dead leader's time is up
        first.server = self.proxy.stand_in()
        self.proxy.on_kill = lambda: first.send(signal.SIGKILL)
        await first.start()
        for _ in range(100):
            await asyncio.sleep(0.1)
            if await self.leader() is first:
                await self.operators["op-1"].start()
                return
        raise RuntimeError("op-0 does not lead")

    async def on_the_floor(self):
        """Servers without operator, made when they are first asked for."""
        if not self.floor:
            floor = Floor(self)
            await floor.start()
            self.floor = floor
        return self.floor

    async def burn(self, count):
        """Processes that do nothing but use processors."""
        for _ in range(count):
            self.loads.append(await asyncio.create_subprocess_exec("sh", "-c", "while :; do :; done"))
