# SPDX-License-Identifier: Apache-2.0
"""clusterbed: the bed of faults on the local Kubernetes: pods of the real kubelet on three nodes, a route by the real kube-proxy.

It has the face of the fast bed (../bed/bed.py), so cycles, writers, sampler, checker and table are the same. Both live in a namespace called "bed".
"""
import asyncio
import os
import signal
import subprocess
import time

from api import CORE, NAMESPACE, Api
from bed import CLUSTER, HEALTHY_SECONDS, LEASES, OPERATOR_NAMESPACE, Bed
from watchers import SERVICE, SERVICE_THREADS, DIRECT, MAX_ROWS, PAUSE_US, PERIOD_US, Watchers

from machines import RUN, Machine, daemon, pids_in, send

OPERATOR_PODS = f"/api/v1/namespaces/{OPERATOR_NAMESPACE}/pods"
AGENT_IMAGE = "registry.local/kube-mysql-agent:dev"
SERVER_IMAGES = {"mariadb": "registry.local/mariadb:10.11", "mysql": "registry.local/mysql:9.7"}


class Process:
    """The processes of one container; SIGSTOP and SIGCONT go to all of them."""

    def __init__(self, pod, container_id):
        self.pattern = f"kube-mysql-{pod.node}/**/pod{pod.uid}/{container_id}"

    def send(self, number):
        send(pids_in(self.pattern), number)


class Container:
    def __init__(self, process):
        self.process = process


class Pod:
    """A pod as the API server tells of it."""

    def __init__(self, item):
        meta, spec, status = item["metadata"], item["spec"], item.get("status") or {}
        self.name, self.uid, self.node = meta["name"], meta["uid"], spec.get("nodeName")
        self.address = status.get("podIP")
        self.ended = "deletionTimestamp" in meta
        self.ready = any(each["type"] == "Ready" and each["status"] == "True" for each in status.get("conditions") or [])
        states = status.get("containerStatuses") or []
        self.containers = {each["name"]: Container(Process(self, (each.get("containerID") or "none://none").split("//")[1])) for each in states}
        mounts = next(each["volumeMounts"] for each in spec["containers"] if each["name"] == "mysql") if CLUSTER in meta["name"] else []
        self.run_volume = next((each["name"] for each in mounts if each["mountPath"] == "/run/mysqld"), None)

    def pids(self):
        return pids_in(f"kube-mysql-{self.node}/**/pod{self.uid}/**")

    def run_folder(self):
        """Where the host sees its /run/mysqld, through the node's mounts."""
        holder = Machine(self.node).holder() if self.node else None
        return f"/proc/{holder}/root{RUN}/{self.node}/kubelet/pods/{self.uid}/volumes/kubernetes.io~empty-dir/{self.run_volume}"


class Route:
    """What the fast bed's nodes tell of the primary Service: (its address, where it leads)."""

    def __init__(self, bed):
        self.bed = bed

    @property
    def routed(self):
        services, slices = self.bed.api.items["services"], self.bed.api.items["endpointslices"]
        service = services.get(f"{CLUSTER}-mysql-primary", {}).get("spec", {}).get("clusterIP")
        addresses = [
            address for item in slices.values() if item["metadata"].get("labels", {}).get("kubernetes.io/service-name") == f"{CLUSTER}-mysql-primary"
            for endpoint in item.get("endpoints") or [] for address in endpoint["addresses"]
        ]
        return service, addresses[0] if len(addresses) == 1 else None

    def stop(self):
        pass


class ClusterWatchers(Watchers):
    """Writers on node1, so through its kube-proxy, or on a member's node; the members' addresses come by a hosts file of their own."""

    def words(self, folder, cycle, pairs):
        script = 'mount --bind "$0" /etc/hosts && exec "$@"'
        return ["unshare", "--mount", "--propagation=private", "sh", "-c", script, str(self.bed.hosts), f"{self.bed.options.tools}/fault_writer",
                "rows", "shop", str(folder / "password"), str(cycle), str(self.limit_ms), str(PAUSE_US), str(MAX_ROWS), *pairs]

    async def _spawn(self, name, words):
        with open(self.folder / name, "wb") as output:
            process = await asyncio.create_subprocess_exec(*words, stdin=subprocess.DEVNULL, stdout=output, start_new_session=True)
        self.processes.append(process)

    async def start(self):
        bed, service = self.bed, self.bed.nodes.routed[0]
        pairs = [word for _ in range(SERVICE_THREADS) for word in (SERVICE, service)] + [word for name in bed.members() for word in (DIRECT, name)]
        await self._spawn("writer", self.words(bed.folder, self.cycle, pairs))
        sockets = [word for name in bed.members() for word in (name, str(bed.sockets / name / "mysqld.sock"))]
        await self._spawn("sampler", [f"{bed.options.tools}/fault_sampler", "shop", str(bed.folder / "password"), str(PERIOD_US), *sockets])


class ClusterBed(Bed):
    def __init__(self, options):
        super().__init__(options)
        self.net.start = self.net.heal = lambda: None  # the machine's network is not the bed's
        self.hosts, self.sockets = self.folder / "hosts", self.folder / "sockets"
        self.machines = {path.name: Machine(path.name) for path in sorted(RUN.glob("node[1-9]")) if (path / "kubelet").is_dir()}
        self.operators, self.watchers = {}, None

    # ---- up and down ----

    async def start(self):
        began = time.monotonic()
        self.sockets.mkdir(exist_ok=True)
        self._write_hosts()
        self.api = Api(str(RUN / "kubeconfig/admin"), self.folder)
        (self.folder / "kubeconfig").write_bytes((RUN / "kubeconfig/admin").read_bytes())
        self.nodes = Route(self)
        await self._objects()
        self.api.listeners.append(self._heard)
        await self.api.start()
        await self._create()
        print(f"bed: {self.flavour} {self.mode} on {len(self.machines)} nodes stands after {time.monotonic() - began:.1f} s, records in {self.folder}", flush=True)

    async def _objects(self):
        await self._remove()
        await self.api.insist("POST", "/api/v1/namespaces", {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": NAMESPACE}})
        await self.api.insist("POST", "/apis/kubemysql.dev/v1alpha1/mysqlconfigs", {
            "apiVersion": "kubemysql.dev/v1alpha1", "kind": "MysqlConfig", "metadata": {"name": "bed"},
            "spec": {"images": {"mysql": SERVER_IMAGES[self.flavour], "agent": AGENT_IMAGE}},
        })

    async def _remove(self):
        """Content first: a namespace that finds itself not empty looks again only after ever longer pauses."""
        def work():
            self.kubectl("-n", NAMESPACE, "delete", "mysqlclusters", "--all", "--ignore-not-found", "--timeout=60s")
            self.kubectl("-n", NAMESPACE, "delete", "statefulsets,pods,persistentvolumeclaims", "--all", "--grace-period=1", "--timeout=60s")
            self.kubectl("delete", "namespace", NAMESPACE, "--ignore-not-found", "--timeout=90s")
            self.kubectl("delete", "mysqlconfig", "bed", "--ignore-not-found")
        await asyncio.to_thread(work)

    async def stop(self):
        if self.api:
            if not self.options.keep:
                await self._remove()
            self.api.stop()

    # ---- what is so ----

    def _heard(self, _change, kind, item):
        if kind != "pods" or not item["metadata"]["name"].startswith(f"{CLUSTER}-mysql-"):
            return
        pod = self.pod(item["metadata"]["name"])
        if pod and pod.node and pod.run_volume:
            link = self.sockets / pod.name
            fresh = link.with_suffix(".new")
            fresh.unlink(missing_ok=True)
            fresh.symlink_to(pod.run_folder())
            fresh.replace(link)
        self._write_hosts()

    def _write_hosts(self):
        """In place: it is mounted over the writers' /etc/hosts."""
        text = "127.0.0.1 localhost\n"
        for name in (f"{CLUSTER}-mysql-{number}" for number in range(9)):
            pod = self.pod(name) if self.api else None
            text += f"{pod.address} {name}\n" if pod and pod.address else ""
        if not self.hosts.exists() or self.hosts.read_text() != text:
            self.hosts.write_text(text)

    def pod(self, name):
        item = self.api.items["pods"].get(name)
        return Pod(item) if item else None

    def machine(self, member):
        return self.machines[self.pod(member).node]

    async def sql(self, member, text, seconds=20):
        pod = self.pod(member)
        if not pod or not (self.sockets / member).exists():
            raise RuntimeError(f"{member} is not there")
        return await self.ask(str(self.sockets / member / "mysqld.sock"), member, text, seconds)

    def api_server_pid(self):
        return daemon("apiserver")

    async def operator_pods(self):
        answer = await self.api.send("GET", OPERATOR_PODS)
        return [Pod(item) for item in answer.json()["items"] if "deletionTimestamp" not in item["metadata"]]

    async def leader(self):
        holders = [(item.get("spec") or {}).get("holderIdentity") or "" for item in (await self.api.send("GET", LEASES)).json().get("items", [])]
        return next((pod for pod in await self.operator_pods() for holder in holders if holder.startswith(pod.name)), None)

    def watch(self, cycle, limit_ms):
        self.watchers = ClusterWatchers(self, cycle, limit_ms)
        return self.watchers

    # ---- what is done ----

    def kill(self, member, container, number=signal.SIGKILL):
        self.pod(member).containers[container].process.send(number)

    def stop_node(self, member):
        machine = self.machine(member)
        machine.cut()
        machine.freeze()

    def start_node(self, member):
        self.machine(member).restore()

    async def undo(self):
        await asyncio.gather(*self.jobs, return_exceptions=True)
        self.jobs = []
        os.kill(self.api_server_pid(), signal.SIGCONT)
        for member in self.members():
            send(self.pod(member).pids() if self.pod(member) else [], signal.SIGCONT)
        for machine in self.machines.values():
            await asyncio.to_thread(machine.restore)

    async def insist_on(self, what, test, seconds=60):
        """test is asynchronous."""
        end = time.monotonic() + seconds
        while time.monotonic() < end:
            if await test():
                return
            await asyncio.sleep(0.3)
        raise RuntimeError(f"not in {seconds} s: {what}")

    async def operators_ready(self):
        pods = await self.operator_pods()
        return len(pods) == 2 and all(pod.ready for pod in pods) and await self.leader() is not None

    async def spread_operators(self):
        """The scheduler prefers two nodes, but does not insist on it: pods that are going away count too."""
        for _ in range(5):
            await self.insist_on("two operators", self.operators_ready, 90)
            pods, leader = await self.operator_pods(), await self.leader()
            if len({pod.node for pod in pods}) == 2:
                return
            await self.delete_operator(next(pod for pod in pods if pod.name != leader.name))
        raise RuntimeError("both operators on one node, five times")

    async def delete_operator(self, pod):
        await self.api.insist("DELETE", f"{OPERATOR_PODS}/{pod.name}", {})

    async def place(self, with_leader):
        """The primary on another node than node1; the leading operator there too, or elsewhere."""
        await self.spread_operators()
        if with_leader and (await self.leader()).node == "node1":
            await self.delete_operator(await self.leader())
            await self.spread_operators()
        leader = (await self.leader()).node

        def fits(member):
            node = self.pod(member).node
            return node != "node1" and (node == leader) == with_leader

        if not fits(self.primary()):
            candidates = [member for member in self.replicas() if fits(member)]
            if not candidates:
                raise RuntimeError(f"no member can be primary there: leader on {leader}")
            await self.switch_over(candidates[0])
        if not await self.healthy(HEALTHY_SECONDS):
            raise RuntimeError(self.why())

    async def fetch_logs(self):
        """Into the folder whose logs are kept as evidence."""
        def work():
            for pod in [(OPERATOR_NAMESPACE, word) for word in self._names(OPERATOR_NAMESPACE)] + [(NAMESPACE, word) for word in self._names(NAMESPACE)]:
                for container in self._containers(*pod):
                    for more in ([], ["--previous"]):
                        try:
                            text = self.kubectl("-n", pod[0], "logs", pod[1], "-c", container, "--tail=3000", *more)
                        except RuntimeError as error:
                            text = str(error)
                        (self.folder / f"{pod[1]}.{container}{'.previous' if more else ''}.log").write_text(text)
            (self.folder / "events.log").write_text(self.kubectl("-n", NAMESPACE, "get", "events", "--sort-by=.lastTimestamp"))
            (self.folder / "pods.log").write_text(self.kubectl("-n", NAMESPACE, "get", "pods,endpointslices,mysqlclusters", "-o", "wide"))
        await asyncio.to_thread(work)

    def _names(self, namespace):
        return self.kubectl("-n", namespace, "get", "pods", "-o", "jsonpath={.items[*].metadata.name}").split()

    def _containers(self, namespace, pod):
        return self.kubectl("-n", namespace, "get", "pod", pod, "-o", "jsonpath={.spec.initContainers[*].name} {.spec.containers[*].name}").split()
