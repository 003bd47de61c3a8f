# SPDX-License-Identifier: Apache-2.0
"""api: the API server for the bed itself: requests, and a view of one namespace that watches keep."""
import asyncio
import base64
import json
import pathlib
import ssl
import subprocess
import time
import urllib.parse

from http11 import HttpError, Upstream, read_lines

NAMESPACE = "bed"
CORE, OURS = f"/api/v1/namespaces/{NAMESPACE}", f"/apis/kubemysql.dev/v1alpha1/namespaces/{NAMESPACE}"
KINDS = {
    "pods": CORE, "persistentvolumeclaims": CORE, "secrets": CORE, "configmaps": CORE, "services": CORE, "mysqlclusters": OURS,
    "endpointslices": f"/apis/discovery.k8s.io/v1/namespaces/{NAMESPACE}",
}
TIMEOUT_SECONDS = 20


def micro_now():
    return time.strftime("%Y-%m-%dT%H:%M:%S.000000Z", time.gmtime())


def now():
    return time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime())


class Api:
    def __init__(self, kubeconfig, folder):
        self.folder = pathlib.Path(folder)
        self.kubeconfig = kubeconfig
        self.upstream = self.connect()
        self.items = {kind: {} for kind in KINDS}
        self.listeners = []  # called with (type, kind, object)
        self.changed = asyncio.Event()
        self.tasks = []
        self.history = []  # (monotonic ns, epoch, primary) of the cluster's status

    def connect(self):
        text = subprocess.run(["kubectl", "--kubeconfig", self.kubeconfig, "config", "view", "--raw", "-o", "json"], check=True, capture_output=True)
        config = json.loads(text.stdout)
        cluster, user = config["clusters"][0]["cluster"], config["users"][0]["user"]
        paths = {}
        for holder, key in ((cluster, "certificate-authority"), (user, "client-certificate"), (user, "client-key")):
            paths[key] = self.folder / key
            paths[key].write_bytes(base64.b64decode(holder[key + "-data"]))
        tls = ssl.create_default_context(cafile=paths["certificate-authority"])
        tls.load_cert_chain(paths["client-certificate"], paths["client-key"])
        url = urllib.parse.urlsplit(cluster["server"])
        return Upstream(url.hostname, url.port, tls)

    async def start(self):
        for kind in KINDS:
            self.tasks.append(asyncio.create_task(self._follow(kind)))

    async def _follow(self, kind):
        while True:
            try:
                version = await self._list(kind)
                while await self._watch(kind, version):
                    version = await self._list(kind)
            except (HttpError, OSError, asyncio.IncompleteReadError, asyncio.TimeoutError):
                await asyncio.sleep(0.2)

    async def _list(self, kind):
        document = (await self.send("GET", f"{KINDS[kind]}/{kind}")).json()
        if "items" not in document:  # a server that has just learned of a kind says 404, or 429: storage is (re)initializing
            raise HttpError(f"list of {kind}: {document}")
        there = {item["metadata"]["name"]: item for item in document["items"]}
        for name in set(self.items[kind]) - set(there):
            self._event("DELETED", kind, self.items[kind][name])
        for name, item in there.items():
            if item["metadata"]["resourceVersion"] != self.items[kind].get(name, {}).get("metadata", {}).get("resourceVersion"):
                self._event("MODIFIED", kind, item)
        return document["metadata"]["resourceVersion"]

    async def _watch(self, kind, version):
        head, connection = await self.upstream.stream("GET", f"{KINDS[kind]}/{kind}?watch=1&timeoutSeconds=3000&resourceVersion={version}")
        try:
            async for line in read_lines(connection[0], head):
                event = json.loads(line)
                if event["type"] == "ERROR":
                    break
                self._event(event["type"], kind, event["object"])
        finally:
            connection[1].close()
        return True

    def _event(self, change, kind, item):
        if change == "DELETED":
            self.items[kind].pop(item["metadata"]["name"], None)
        else:
            self.items[kind][item["metadata"]["name"]] = item
        if kind == "mysqlclusters":
            status = item.get("status") or {}
            entry = (status.get("epoch", 0), status.get("currentPrimary"))
            if not self.history or self.history[-1][1:] != entry:
                self.history.append((time.monotonic_ns(), *entry))
        for listener in self.listeners:
            listener(change, kind, item)
        self.changed.set()
        self.changed = asyncio.Event()

    async def send(self, method, path, document=None, merge=True):
        headers = {"content-type": "application/merge-patch+json" if method == "PATCH" and merge else "application/json"}
        body = json.dumps(document).encode() if document is not None else b""
        return await asyncio.wait_for(self.upstream.request(method, path, headers, body), TIMEOUT_SECONDS)

    async def insist(self, method, path, document=None):
        """Goes on while the API server is away. What is refused because somebody was quicker (404, 409) is done."""
        while True:
            try:
                answer = await self.send(method, path, document)
            except (HttpError, OSError, asyncio.TimeoutError):
                await asyncio.sleep(0.3)
                continue
            if answer.status >= 400 and answer.status not in (404, 409):
                print(f"bed: {method} {path}: {answer.status} {answer.body[:300]!r}", flush=True)
            return answer

    async def until(self, what, test, seconds):
        """Returns whether it came true in time. `what` is for people."""
        end = time.monotonic() + seconds
        while not test():
            changed, left = self.changed, end - time.monotonic()
            if left <= 0:
                return False
            try:
                await asyncio.wait_for(changed.wait(), min(left, 0.2))
            except asyncio.TimeoutError:
                pass
        return True

    def secret(self, name, key):
        data = (self.items["secrets"].get(name) or {}).get("data") or {}
        return base64.b64decode(data.get(key, ""))

    def stop(self):
        for task in self.tasks:
            task.cancel()
