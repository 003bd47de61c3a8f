# SPDX-License-Identifier: Apache-2.0
"""kubelet: stands in for scheduler, kubelet and volume provisioner of all namespaces.

A pod is bound to the one node, becomes Running and Ready (the pod that tries a my.cnf: Succeeded), and is gone soon after its deletion. A claim
gets a PersistentVolume of its size, and grows when more is asked for. No container runs; behind the address of a cluster's member is an agent
double (agents.py), which says when init is through and when the member is ready, and holds its pod's end up as the preStop hook does.
"""
import asyncio
import json
import os
import time

from agents import Agent, Fleet

NODE = "sim"
NETWORK = os.environ.get("FAULTS_NETWORK", "10.77")  # the first half of the addresses; all of them are this machine's
HOST = f"{NETWORK}.0.0"
PODS, CLAIMS, VOLUMES = "/api/v1/namespaces/{}/pods/{}", "/api/v1/namespaces/{}/persistentvolumeclaims/{}", "/api/v1/persistentvolumes"
MERGE = {"content-type": "application/merge-patch+json"}
LEASES = "/apis/coordination.k8s.io/v1/namespaces/kube-node-lease/leases"
LEASE_SECONDS = 4


def now():
    return time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime())


def micro_now():
    return time.strftime("%Y-%m-%dT%H:%M:%S.000000Z", time.gmtime())


class Kubelet:
    def __init__(self, api, world, folder):
        self.api, self.world, self.folder = api, world, folder
        self.fleets = {}  # by namespace
        self.agents = {}  # by uid of the pod
        self.done = set()  # (uid, step): what was done already
        self.busy = set()
        self.addresses = 0
        self.lease = None
        world.listeners.append(self.on_event)

    async def start(self):
        await self._post("/api/v1/nodes", {"apiVersion": "v1", "kind": "Node", "metadata": {"name": NODE}})
        ready = {"type": "Ready", "status": "True", "reason": "Simulated", "lastHeartbeatTime": now(), "lastTransitionTime": now()}
        await self._patch(f"/api/v1/nodes/{NODE}/status", {"status": {"conditions": [ready]}})
        await self._post("/apis/storage.k8s.io/v1/storageclasses", {
            "apiVersion": "storage.k8s.io/v1", "kind": "StorageClass", "provisioner": "kube-mysql.local/sim", "allowVolumeExpansion": True,
            "metadata": {"name": "standard", "annotations": {"storageclass.kubernetes.io/is-default-class": "true"}},
        })
        await self._renew(True)
        self.lease = asyncio.create_task(self._heartbeat())

    def stop(self):
        for task in list(self.busy) + [self.lease]:
            if task:
                task.cancel()

    async def _heartbeat(self):
        while True:
            await asyncio.sleep(LEASE_SECONDS)
            await self._renew(False)

    async def _renew(self, first):
        spec = {"holderIdentity": NODE, "leaseDurationSeconds": 40, "renewTime": micro_now()}
        if first:
            lease = {"apiVersion": "coordination.k8s.io/v1", "kind": "Lease", "metadata": {"name": NODE}, "spec": spec}
            await self._post(LEASES, lease)
        await self._patch(f"{LEASES}/{NODE}", {"spec": spec})

    # ---- requests; whoever comes too late (404, 409) lost a race with somebody else and is right to do nothing ----

    async def _send(self, method, path, document, headers):
        answer = await self.api.request(method, path, headers, json.dumps(document).encode())
        if answer.status >= 400 and answer.status not in (404, 409):
            print(f"kubelet: {method} {path}: {answer.status} {answer.body[:200]!r}")

    async def _post(self, path, document):
        await self._send("POST", path, document, {"content-type": "application/json"})

    async def _patch(self, path, document):
        await self._send("PATCH", path, document, MERGE)

    def _once(self, uid, step, job):
        if (uid, step) in self.done:
            job.close()
            return
        self.done.add((uid, step))
        task = asyncio.create_task(job)
        self.busy.add(task)
        task.add_done_callback(self.busy.discard)

    def on_event(self, change, kind, item):
        if kind == "pods" and change != "DELETED":
            self._pod(item)
        elif kind == "persistentvolumeclaims":
            self._claim(change, item)

    # ---- pods ----

    def _pod(self, pod):
        meta = pod["metadata"]
        path = PODS.format(meta["namespace"], meta["name"])
        if meta.get("deletionTimestamp"):
            self._once(meta["uid"], "end", self._end_pod(path, meta["uid"]))
        elif not pod["spec"].get("nodeName"):
            self._once(meta["uid"], "bind", self._post(path + "/binding", {
                "apiVersion": "v1", "kind": "Binding", "metadata": {"name": meta["name"], "uid": meta["uid"]}, "target": {"kind": "Node", "name": NODE},
            }))
        else:
            self._once(meta["uid"], "run", self._run_pod(path, pod))

    async def _end_pod(self, path, uid):
        await asyncio.sleep(0.05)
        agent = self.agents.pop(uid, None)
        while agent and not agent.may_stop():
            await asyncio.sleep(0.02)
        if agent:
            await agent.stop()
        options = {"apiVersion": "v1", "kind": "DeleteOptions", "gracePeriodSeconds": 0, "preconditions": {"uid": uid}}
        await self._send("DELETE", path, options, {"content-type": "application/json"})

    def _take_address(self):
        """Of the network that run.sh has made."""
        self.addresses += 1
        return f"{NETWORK}.{self.addresses >> 8 & 255}.{self.addresses & 255}"

    async def _run_pod(self, path, pod):
        if any(owner["kind"] == "StatefulSet" for owner in pod["metadata"].get("ownerReferences") or []):
            await self._run_member(path, pod)
            return
        address = self._take_address()
        ends = pod["spec"].get("restartPolicy") == "Never"
        state = {"terminated": {"exitCode": 0, "reason": "Completed"}} if ends else {"running": {"startedAt": now()}}
        status = {
            "phase": "Running", "podIP": address, "podIPs": [{"ip": address}], "hostIP": HOST, "startTime": now(),
            "conditions": [{"type": each, "status": "True", "lastTransitionTime": now()} for each in ("PodScheduled", "Initialized")],
        }
        await self._patch(path + "/status", {"metadata": {"uid": pod["metadata"]["uid"]}, "status": status})
        status["phase"] = "Succeeded" if ends else "Running"
        status["initContainerStatuses"] = [
            self._container(each, {"terminated": {"exitCode": 0, "reason": "Completed"}}, True) for each in pod["spec"].get("initContainers") or []
        ]
        status["containerStatuses"] = [self._container(each, state, not ends) for each in pod["spec"]["containers"]]
        status["conditions"] += [
            {"type": each, "status": "False" if ends else "True", "lastTransitionTime": now()} for each in ("ContainersReady", "Ready")
        ]
        await asyncio.sleep(0.02)
        await self._patch(path + "/status", {"metadata": {"uid": pod["metadata"]["uid"]}, "status": status})

    # ---- members of clusters ----

    def fleet(self, namespace):
        if namespace not in self.fleets:
            self.fleets[namespace] = Fleet(self.api, namespace, self.world.spaces[namespace], self.folder)
        return self.fleets[namespace]

    def _is_there(self, pod):
        live = self.world.spaces[pod["metadata"]["namespace"]].items["pods"].get(pod["metadata"]["name"])
        return live and live["metadata"]["uid"] == pod["metadata"]["uid"] and not live["metadata"].get("deletionTimestamp")

    async def _run_member(self, path, pod):
        """A pod starts when its claim and its Secret are there; then it is as its agent says."""
        fleet, name = self.fleet(pod["metadata"]["namespace"]), pod["metadata"]["name"]
        while not (volume := fleet.volume(name)) or not (context := fleet.tls()):
            if not self._is_there(pod):
                return
            await asyncio.sleep(0.02)
        agent = Agent(fleet, pod, self._take_address(), volume, context)
        self.agents[pod["metadata"]["uid"]] = agent
        await agent.start()
        shown = None
        while not agent.ended:
            changed, state = agent.changed, (agent.runs, agent.is_ready())
            if state != shown:
                await self._show_member(path, pod, agent.address, *state)
                shown = state
                continue
            try:
                await asyncio.wait_for(changed.wait(), 0.1)
            except asyncio.TimeoutError:
                pass

    async def _show_member(self, path, pod, address, runs, ready):
        conditions = {"PodScheduled": True, "Initialized": runs, "ContainersReady": ready, "Ready": ready}
        ended, waits = {"terminated": {"exitCode": 0, "reason": "Completed"}}, {"waiting": {"reason": "PodInitializing"}}
        going = {"running": {"startedAt": now()}}
        init = [each["name"] for each in pod["spec"].get("initContainers") or []]
        await self._patch(path + "/status", {"metadata": {"uid": pod["metadata"]["uid"]}, "status": {
            "phase": "Running" if runs else "Pending", "podIP": address, "podIPs": [{"ip": address}], "hostIP": HOST, "startTime": now(),
            "conditions": [{"type": kind, "status": str(yes), "lastTransitionTime": now()} for kind, yes in conditions.items()],
            "initContainerStatuses": [
                self._container(each, ended if runs or each["name"] != init[-1] else going, runs) for each in pod["spec"].get("initContainers") or []
            ],
            "containerStatuses": [self._container(each, going if runs else waits, ready) for each in pod["spec"]["containers"]],
        }})

    @staticmethod
    def _container(container, state, ready):
        return {
            "name": container["name"], "image": container["image"], "imageID": "sim", "restartCount": 0, "ready": ready, "started": ready, "state": state,
        }

    # ---- claims ----

    def _claim(self, change, claim):
        meta, spec, status = claim["metadata"], claim["spec"], claim.get("status") or {}
        volume = "pv-" + meta["uid"]
        wanted = spec["resources"]["requests"]["storage"]
        if change == "DELETED":
            self._once(meta["uid"], "free", self._send("DELETE", f"{VOLUMES}/{volume}", {}, {}))
        elif not spec.get("volumeName"):
            self._once(meta["uid"], "provision", self._provision(claim, volume, wanted))
        elif status.get("phase") == "Bound" and status.get("capacity", {}).get("storage") != wanted:
            self._once(meta["uid"], "grow " + wanted, self._grow(meta, spec["volumeName"], wanted))

    async def _provision(self, claim, volume, size):
        meta = claim["metadata"]
        await self._post(VOLUMES, {
            "apiVersion": "v1", "kind": "PersistentVolume", "metadata": {"name": volume},
            "spec": {
                "capacity": {"storage": size}, "accessModes": claim["spec"]["accessModes"], "persistentVolumeReclaimPolicy": "Retain",
                "storageClassName": claim["spec"].get("storageClassName", ""), "hostPath": {"path": "/nonexistent"},
                "claimRef": {"apiVersion": "v1", "kind": "PersistentVolumeClaim", "namespace": meta["namespace"], "name": meta["name"], "uid": meta["uid"]},
            },
        })

    async def _grow(self, meta, volume, size):
        await self._patch(f"{VOLUMES}/{volume}", {"spec": {"capacity": {"storage": size}}})
        await self._patch(CLAIMS.format(meta["namespace"], meta["name"]) + "/status", {"status": {"capacity": {"storage": size}}})
