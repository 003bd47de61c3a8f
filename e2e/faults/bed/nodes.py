# SPDX-License-Identifier: Apache-2.0
"""nodes: scheduler, kubelets, volume provisioner and kube-proxy of the bed, for real processes.

Three nodes, member N on node N modulo 3. What a kubelet does for a pod here: waits for claim, Secrets and ConfigMap; runs `init` until it succeeds; runs the
containers "mysql" and "agent" and restarts what ends, after RESTART_SECONDS, then twice that, ...; shows readiness as the agent's door tells; keeps projected
files as the API has them; ends a deleted pod by hooks, SIGTERM and, after its grace, SIGKILL. Simpler than the real one: files of ConfigMaps and Secrets arrive
at once, the pod that tries a my.cnf always succeeds, liveness is not asked.
"""
import asyncio
import os
import pathlib
import signal
import time

import api as apis
from api import CORE, micro_now, now
from box import UID, Process, drop_volume, make_volume

NODES = 3
RESTART_SECONDS, RESTART_MAX_SECONDS, STABLE_SECONDS = 0.5, 5, 10
PROBE_SECONDS, PROBE_TIMEOUT = 0.5, 2
LEASE_SECONDS = 4
LEASES = "/apis/coordination.k8s.io/v1/namespaces/kube-node-lease/leases"
PLAIN_PORT = 8080
PROJECTED = {"config": ("configmaps", "config"), "accounts": ("secrets", "accounts"), "tls": ("secrets", "tls")}


def node_name(number):
    return f"node-{number}"


def tell_failure(task):
    if not task.cancelled() and task.exception():
        print(f"bed: {task.exception()!r}", flush=True)


def ordinal_of(name):
    tail = name.rpartition("-")[2]
    return int(tail) if tail.isdigit() else 0


class Node:
    def __init__(self, number):
        self.name, self.up, self.back = node_name(number), True, asyncio.Event()
        self.back.set()

    def stop(self):
        self.up = False
        self.back.clear()

    def start(self):
        self.up = True
        self.back.set()


class Container:
    """What is shown of it, and its present process."""

    def __init__(self, spec):
        self.spec, self.name = spec, spec["name"]
        self.process = None
        self.restarts, self.last, self.state = 0, None, {"waiting": {"reason": "PodInitializing"}}

    def status(self, ready):
        shown = {"name": self.name, "image": self.spec["image"], "imageID": "bed", "restartCount": self.restarts, "ready": ready, "state": self.state}
        if self.last:
            shown["lastState"] = self.last
        return shown


class Pod:
    """One pod on its node, from its first sight to its end."""

    def __init__(self, nodes, item):
        self.nodes, self.item = nodes, item
        self.name, self.uid = item["metadata"]["name"], item["metadata"]["uid"]
        self.namespace = item["metadata"]["namespace"]
        self.path = f"{CORE}/pods/{self.name}"
        self.node = nodes.nodes[ordinal_of(self.name) % NODES]
        self.folder = nodes.folder / "pods" / f"{self.name}-{self.uid[:8]}"
        self.address, self.claim, self.volume = None, None, None
        self.ended = self.clearing = self.ready = self.shown_ready = self.initialised = False
        self.init = Container(item["spec"]["initContainers"][-1])
        self.containers = {spec["name"]: Container(spec) for spec in item["spec"]["containers"]}
        self.show_again, self.is_denied = asyncio.Event(), False
        self.adding = None
        self.gone = asyncio.Event()
        self.before = nodes.latest.get(self.name)  # taken away by force, it may not be gone yet
        nodes.latest[self.name] = self
        self.tasks = [asyncio.create_task(self._run())]
        self.tasks[0].add_done_callback(tell_failure)
        self.fake_time = nodes.fake_times.get(self.name)

    def place(self, folder):
        return self.volume if folder == "volume" else self.folder / folder

    def processes(self):
        return [each.process for each in [self.init, *self.containers.values()] if each.process and each.process.pid]

    def pids(self):
        return [pid for process in self.processes() for pid in process.tree()]

    def socket(self):
        return self.folder / "run/mysqld.sock"

    # ---- files ----

    def _prepare(self):
        self.folder.mkdir(parents=True)
        for name in ("run", "tmp", *PROJECTED):
            (self.folder / name).mkdir()
            os.chown(self.folder / name, UID, UID)
        self.volume = self.nodes.volume(self.claim)
        self.project()
        link = self.nodes.folder / "sockets" / self.name
        link.unlink(missing_ok=True)
        link.symlink_to(self.socket())

    def project(self):
        """ConfigMap and Secrets as files, each replaced as a whole."""
        for folder, (kind, suffix) in PROJECTED.items():
            item = self.nodes.api.items[kind].get(f"{self.nodes.cluster}-mysql-{suffix}") or {}
            target = self.folder / folder
            for key, value in (item.get("data") or {}).items():
                data = value.encode() if kind == "configmaps" else self.nodes.api.secret(item["metadata"]["name"], key)
                if (target / key).exists() and (target / key).read_bytes() == data:
                    continue
                new = target / f".{key}.new"
                new.write_bytes(data)
                os.chown(new, UID, UID)
                new.chmod(0o440)
                new.rename(target / key)

    def _has_all(self):
        items = self.nodes.api.items
        claim = items["persistentvolumeclaims"].get(f"data-{self.name}")
        self.claim = claim["metadata"]["uid"] if claim else None
        return claim and all(f"{self.nodes.cluster}-mysql-{suffix}" in items[kind] for kind, suffix in PROJECTED.values())

    # ---- life ----

    async def _run(self):
        if self.before:
            await self.before.gone.wait()
            self.before = None
        while not self._has_all():
            await asyncio.sleep(0.02)
        self._prepare()
        self.address = self.nodes.net.take_address()
        self.adding = asyncio.create_task(asyncio.to_thread(self.nodes.net.add_surely, self.name, self.address))
        await asyncio.shield(self.adding)
        self.nodes.write_hosts()
        self.tasks += [asyncio.create_task(self._show()), asyncio.create_task(self._probe())]
        await self._keep(self.init, "init", once=True)
        self.init.state = {"terminated": {"exitCode": 0, "reason": "Completed"}}
        self.initialised = True
        self.show_again.set()
        self.tasks += [asyncio.create_task(self._keep(each, {"mysql": "server", "agent": "run"}[each.name])) for each in self.containers.values()]

    async def _keep(self, container, command, once=False):
        """Runs it, again and again; `once`: until it ends well."""
        pause = RESTART_SECONDS
        while not self.ended:
            await self.node.back.wait()
            process = container.process = Process(self.nodes.image, self, container.name, self.nodes.image.agent(command), self.fake_time)
            began = time.monotonic()
            await process.start()
            container.state = {"running": {"startedAt": now()}}
            self.show_again.set()
            code = await process.wait()
            if once and code == 0:
                return
            code = 128 - code if code < 0 else code
            message = process.termination.read_text(errors="replace")[:1000]
            container.last = {"terminated": {"exitCode": code, "reason": "Error" if code else "Completed", "message": message, "finishedAt": now()}}
            container.state = {"waiting": {"reason": "CrashLoopBackOff"}}
            container.restarts += 1
            self.show_again.set()
            if time.monotonic() - began > STABLE_SECONDS:
                pause = RESTART_SECONDS
            await asyncio.sleep(pause)
            pause = min(pause * 2, RESTART_MAX_SECONDS)

    async def _probe(self):
        while not self.ended:
            if self.node.up:
                ready = self.initialised and await self._ask_ready()
                if ready != self.ready:
                    self.ready = ready
                    self.show_again.set()
            await asyncio.sleep(PROBE_SECONDS if self.initialised else 0.1)

    async def _ask_ready(self):
        return await self.ask("/ready") == 200

    async def ask(self, path):
        """The status code of the agent's plain door; 0: none."""
        made = None
        try:
            made = self.nodes.net.socket_in(self.name)
            return await asyncio.wait_for(self._exchange(made, path), PROBE_TIMEOUT)
        except (OSError, asyncio.TimeoutError, ValueError, IndexError):
            return 0
        finally:
            if made:
                made.close()

    @staticmethod
    async def _exchange(made, path):
        loop = asyncio.get_running_loop()
        await loop.sock_connect(made, ("127.0.0.1", PLAIN_PORT))
        await loop.sock_sendall(made, f"GET {path} HTTP/1.1\r\nHost: pod\r\nConnection: close\r\n\r\n".encode())
        return int((await loop.sock_recv(made, 512)).split()[1])

    # ---- status ----

    async def _show(self):
        shown = None
        while not self.ended:
            self.show_again.clear()
            await self.node.back.wait()
            status = self._status()
            if status != shown or self.is_denied:
                self.is_denied = False
                await self.nodes.api.insist("PATCH", self.path + "/status", {"metadata": {"uid": self.uid}, "status": status})
                shown, self.shown_ready = status, self.ready
            await self.show_again.wait()

    def compare(self, item):
        """The node controller says of pods of a node that it has not heard of that they are not ready."""
        ready = next((each["status"] for each in (item.get("status") or {}).get("conditions") or [] if each["type"] == "Ready"), None)
        if self.ready and ready == "False" and self.shown_ready:
            self.is_denied = True
            self.show_again.set()

    def _status(self):
        conditions = {"PodScheduled": True, "Initialized": self.initialised, "ContainersReady": self.ready, "Ready": self.ready}
        inject = Container(self.item["spec"]["initContainers"][0])
        inject.state = {"terminated": {"exitCode": 0, "reason": "Completed"}}
        return {
            "phase": "Running" if self.initialised else "Pending", "podIP": self.address, "podIPs": [{"ip": self.address}], "hostIP": "10.200.0.1",
            "conditions": [{"type": kind, "status": str(yes)} for kind, yes in conditions.items()],
            "initContainerStatuses": [inject.status(True), self.init.status(self.initialised)],
            "containerStatuses": [each.status(self.ready) for each in self.containers.values()],
        }

    # ---- the end ----

    async def end(self, grace):
        """As the kubelet does: hooks, SIGTERM, SIGKILL; then the object goes."""
        await self.node.back.wait()
        self.ended = True
        try:
            await asyncio.wait_for(asyncio.gather(*(self._end_container(each) for each in self.containers.values())), grace)
        except asyncio.TimeoutError:
            pass
        await self.clear()
        self.nodes.forget(self)
        await self.nodes.api.insist("DELETE", self.path, {"gracePeriodSeconds": 0, "preconditions": {"uid": self.uid}})

    async def _end_container(self, container):
        if not container.process or not container.process.pid:
            return
        hook = (((container.spec.get("lifecycle") or {}).get("preStop") or {}).get("exec") or {}).get("command")
        if hook:
            process = Process(self.nodes.image, self, f"hook-{container.name}", self.nodes.image.agent(*hook[1:]))
            await process.start()
            await process.wait()
        container.process.send(signal.SIGTERM)
        await container.process.wait()

    async def clear(self):
        """Nothing of it is left but its volume and its logs. Taken away by force while it ends, it is cleared twice at the same time: the second call waits."""
        self.ended = True
        if self.clearing:
            await self.gone.wait()
            return
        self.clearing = True
        try:
            await self._clear()
        finally:
            self.gone.set()  # or its successor would wait for ever

    async def _clear(self):
        for task in self.tasks:
            task.cancel()
        await asyncio.gather(*self.tasks, return_exceptions=True)
        for each in [self.init, *self.containers.values()]:
            if each.process and each.process.process:
                each.process.kill()
                await each.process.wait()
        if self.adding:  # a thread goes on when its task is cancelled
            await asyncio.gather(self.adding, return_exceptions=True)
            await asyncio.to_thread(self.nodes.net.remove, self.name)
        if self.before:
            await self.before.gone.wait()


class Nodes:
    def __init__(self, api, net, image, folder, cluster):
        self.api, self.net, self.image, self.cluster = api, net, image, cluster
        self.folder = pathlib.Path(folder)
        self.nodes = [Node(number) for number in range(NODES)]
        self.pods, self.latest = {}, {}  # by name; the latest may be gone
        self.seen = set()  # (uid, step)
        self.volumes = {}  # uid of a claim: folder
        self.fake_times = {}  # of pods made from now on
        self.routed = None
        self.tasks = []
        self.began = now()
        for name in ("pods", "volumes", "sockets"):  # sockets: links by which a member's is found, whatever pod it has
            (self.folder / name).mkdir()
        api.listeners.append(self.on_event)

    async def start(self):
        for node in self.nodes:
            await self.api.insist("POST", "/api/v1/nodes", {"apiVersion": "v1", "kind": "Node", "metadata": {"name": node.name}})
            await self._post_ready(node)
            await self._renew(node, "POST", LEASES)
        await self.api.insist("POST", "/apis/storage.k8s.io/v1/storageclasses", {
            "apiVersion": "storage.k8s.io/v1", "kind": "StorageClass", "provisioner": "kube-mysql.local/bed", "allowVolumeExpansion": True,
            "metadata": {"name": "standard", "annotations": {"storageclass.kubernetes.io/is-default-class": "true"}},
        })
        self.tasks.append(asyncio.create_task(self._heartbeats()))

    async def _heartbeats(self):
        while True:
            await asyncio.sleep(LEASE_SECONDS)
            await asyncio.gather(*(self._renew(node, "PATCH", f"{LEASES}/{node.name}") for node in self.nodes if node.up))
            await asyncio.gather(*(self._post_ready(node) for node in self.nodes if node.up))

    async def _post_ready(self, node):
        """Again and again: the node controller takes it back when it has heard nothing, as after an absence of the API server, and would evict all pods."""
        ready = {"type": "Ready", "status": "True", "reason": "Bed", "lastHeartbeatTime": now(), "lastTransitionTime": self.began}
        await self.api.insist("PATCH", f"/api/v1/nodes/{node.name}/status", {"status": {"conditions": [ready]}})

    async def _renew(self, node, method, path):
        spec = {"holderIdentity": node.name, "leaseDurationSeconds": 40, "renewTime": micro_now()}
        lease = {"apiVersion": "coordination.k8s.io/v1", "kind": "Lease", "metadata": {"name": node.name}, "spec": spec}
        await self.api.insist(method, path, lease)

    def node_of(self, pod):
        return self.nodes[ordinal_of(pod) % NODES]

    def _once(self, uid, step, job):
        if (uid, step) in self.seen:
            job.close()
            return
        self.seen.add((uid, step))
        task = asyncio.create_task(job)
        self.tasks.append(task)
        task.add_done_callback(self._done)

    def _done(self, task):
        self.tasks.remove(task)
        tell_failure(task)

    def on_event(self, change, kind, item):
        if kind == "pods":
            self._pod(change, item)
        elif kind == "persistentvolumeclaims":
            self._claim(change, item)
        elif kind in ("secrets", "configmaps"):
            for pod in self.pods.values():
                if pod.volume:
                    pod.project()
        elif kind in ("services", "endpointslices"):
            self._route()

    # ---- pods ----

    def _pod(self, change, item):
        meta = item["metadata"]
        path = f"{CORE}/pods/{meta['name']}"
        pod = self.pods.get(meta["name"])
        if change == "DELETED":
            if pod and pod.uid == meta["uid"] and not pod.ended:  # taken away by force
                self.forget(pod)
                self._once(meta["uid"], "clear", pod.clear())
        elif meta.get("deletionTimestamp"):
            if pod and pod.uid == meta["uid"]:
                self._once(meta["uid"], "end", pod.end(meta.get("deletionGracePeriodSeconds", 30)))
            elif not pod:
                self._once(meta["uid"], "end", self.api.insist("DELETE", path, {"gracePeriodSeconds": 0, "preconditions": {"uid": meta["uid"]}}))
        elif not item["spec"].get("nodeName"):
            self._once(meta["uid"], "bind", self.api.insist("POST", path + "/binding", {
                "apiVersion": "v1", "kind": "Binding", "metadata": {"name": meta["name"], "uid": meta["uid"]},
                "target": {"kind": "Node", "name": node_name(ordinal_of(meta["name"]) % NODES)},
            }))
        elif item["spec"].get("restartPolicy") == "Never":
            self._once(meta["uid"], "run", self._succeed(path, item))
        elif (meta["uid"], "run") not in self.seen:
            self.seen.add((meta["uid"], "run"))
            self.pods[meta["name"]] = Pod(self, item)
        elif pod and pod.uid == meta["uid"]:
            pod.compare(item)

    async def _succeed(self, path, item):
        done = {"terminated": {"exitCode": 0, "reason": "Completed"}}
        await self.api.insist("PATCH", path + "/status", {"metadata": {"uid": item["metadata"]["uid"]}, "status": {
            "phase": "Succeeded", "containerStatuses": [
                {"name": each["name"], "image": each["image"], "imageID": "bed", "restartCount": 0, "ready": False, "state": done}
                for each in item["spec"]["containers"]
            ],
        }})

    def forget(self, pod):
        if self.pods.get(pod.name) is pod:
            del self.pods[pod.name]

    def write_hosts(self):
        service = f"{self.cluster}-mysql.{apis.NAMESPACE}.svc"
        names = []
        for pod in self.pods.values():
            if pod.address:
                names.append(([f"{pod.name}.{service}", f"{pod.name}.{service}.cluster.local", pod.name], pod.address))
        self.image.write_hosts(names)

    # ---- volumes ----

    def volume(self, claim):
        if claim not in self.volumes:
            self.volumes[claim] = self.folder / "volumes" / claim[:8]
            make_volume(self.volumes[claim])
        return self.volumes[claim]

    def _claim(self, change, claim):
        meta = claim["metadata"]
        wanted = claim["spec"]["resources"]["requests"]["storage"]
        if change == "DELETED":
            self._once(meta["uid"], "free", self._free(meta["uid"]))
        elif not claim["spec"].get("volumeName"):
            self._once(meta["uid"], "provision", self.api.insist("POST", "/api/v1/persistentvolumes", {
                "apiVersion": "v1", "kind": "PersistentVolume", "metadata": {"name": "pv-" + meta["uid"]},
                "spec": {
                    "capacity": {"storage": wanted}, "accessModes": claim["spec"]["accessModes"], "persistentVolumeReclaimPolicy": "Retain",
                    "storageClassName": claim["spec"].get("storageClassName", ""), "hostPath": {"path": "/nonexistent"},
                    "claimRef": {
                        "apiVersion": "v1", "kind": "PersistentVolumeClaim", "namespace": meta["namespace"], "name": meta["name"], "uid": meta["uid"],
                    },
                },
            }))

    async def _free(self, uid):
        await self.api.insist("DELETE", f"/api/v1/persistentvolumes/pv-{uid}", {})
        path = self.volumes.pop(uid, None)
        if path:
            drop_volume(path)

    # ---- kube-proxy ----

    def _route(self):
        name = f"{self.cluster}-mysql-primary"
        address = (self.api.items["services"].get(name) or {}).get("spec", {}).get("clusterIP")
        slices = [item for item in self.api.items["endpointslices"].values()
                  if item["metadata"].get("labels", {}).get("kubernetes.io/service-name") == name]
        backends = [
            each["addresses"][0] for item in slices for each in item.get("endpoints") or [] if (each.get("conditions") or {}).get("ready", True)
        ]
        wanted = (address, backends[0] if backends else None)
        if address and wanted != self.routed:
            self.routed = wanted
            self.net.route(*wanted)

    def stop(self):
        for task in self.tasks:
            task.cancel()
