# SPDX-License-Identifier: Apache-2.0
"""world: what the API server holds, per namespace, and everything that happened to it.

One watch per kind over all namespaces, by the administrator and not through any fault proxy. A namespace's world can be printed in a normal form
in which two runs of the same story are equal: without uids, versions, times, addresses, and with random data reduced to "it is there".
"""
import asyncio
import base64
import collections
import copy
import hashlib
import json
import re
import time

from http11 import HttpError, read_lines

KINDS = {
    "pods": "/api/v1",
    "persistentvolumeclaims": "/api/v1",
    "services": "/api/v1",
    "configmaps": "/api/v1",
    "secrets": "/api/v1",
    "serviceaccounts": "/api/v1",
    "statefulsets": "/apis/apps/v1",
    "endpointslices": "/apis/discovery.k8s.io/v1",
    "poddisruptionbudgets": "/apis/policy/v1",
    "mysqlclusters": "/apis/kubemysql.dev/v1alpha1",
    "mysqlterminals": "/apis/kubemysql.dev/v1alpha1",
}
UID = re.compile(r"[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}")
TIME = re.compile(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(?:\.\d+)?Z")
ADDRESS = re.compile(r"\b10\.\d+\.\d+\.\d+\b")
RANDOM = re.compile(r'(serverIdBase\\?\\":|"terminal-)[0-9a-f]+')  # from the uid; from the password
NORMAL = ((UID, "<uid>"), (ADDRESS, "<address>"), (TIME, "<time>"), (RANDOM, r"\1<random>"))


def is_background(kind, item):
    """Made by Kubernetes itself in every namespace, or beside our objects."""
    meta = item["metadata"]
    return (
        (kind == "configmaps" and meta["name"] == "kube-root-ca.crt")
        or (kind == "serviceaccounts" and meta["name"] == "default")
        or (kind == "endpointslices" and "controller.k8s.io" in str(meta.get("labels", {}).get("endpointslice.kubernetes.io/managed-by")))
    )


def condition(item, kind):
    for each in (item.get("status") or {}).get("conditions") or []:
        if each["type"] == kind:
            return each["status"]
    return None


def _observed(status, generation):
    for key in ("observedGeneration", "appliedGeneration"):
        if key in status:
            status[key] = "current" if status[key] == generation else "STALE"


def _normal_status(kind, item):
    status = item.get("status") or {}
    if kind == "pods":
        return {"phase": status.get("phase"), "ready": condition(item, "Ready")}
    if kind == "statefulsets":
        return {key: status.get(key, 0) for key in ("replicas", "readyReplicas")}
    if kind in ("poddisruptionbudgets", "services"):
        return {}
    generation = item["metadata"].get("generation")
    _observed(status, generation)
    for each in status.get("conditions") or []:
        each.pop("lastTransitionTime", None)
        if kind.startswith("mysql"):
            _observed(each, generation)
    if "conditions" in status:  # a map by type: they stand in the order in which they were first set
        status["conditions"].sort(key=lambda each: each["type"])
    if "appliedHash" in status:
        status["appliedHash"] = "<hash>"
    if "epoch" in status:  # every move of the primary, one that was undone included, takes one
        status["epoch"] = "<epoch>"
    if "reigns" in status:  # their floors and epochs are of the moves, too
        latest = status["reigns"][0]
        status["reigns"] = {"primary": latest.get("primary"), "opened": latest.get("opened", False)}
    for key in ("lastSwitchover", "lastFailover", "history"):  # how often and for how long, a run decides
        status.pop(key, None)
    return status


def normal_form(kind, original):
    item = copy.deepcopy(original)
    meta = item["metadata"]
    kept = {key: meta[key] for key in ("name", "labels", "annotations", "finalizers") if meta.get(key)}
    kept["owners"] = [f"{owner['kind']}/{owner['name']}" for owner in meta.get("ownerReferences") or []]
    if meta.get("deletionTimestamp"):
        kept["deleting"] = True
    item.update(metadata=kept, status=_normal_status(kind, item))
    if kind == "secrets" or meta["name"].endswith("-mysql-ca-bundle"):
        item["data"] = {key: f"{len(value) > 0}" for key, value in (item.get("data") or {}).items()}
    if kind == "persistentvolumeclaims":  # what Kubernetes' volume controllers note down
        kept["annotations"] = {key: value for key, value in kept.get("annotations", {}).items() if ".kubernetes.io/" not in key}
    if kind == "pods" and "kubemysql.dev/mounts-changed" in kept.get("annotations", {}):
        # A run decides which pods were there when a Secret changed.
        kept["annotations"] = {key: value for key, value in kept["annotations"].items() if key != "kubemysql.dev/mounts-changed"}
        if not kept["annotations"]:
            del kept["annotations"]
    if kind == "services":
        item["spec"].pop("clusterIPs", None)
    return item


class Namespace:
    def __init__(self):
        self.items = {kind: {} for kind in KINDS}
        self.history = []  # (what, kind, name)
        self.times = []  # of the same entries
        self.retries = []  # what Progressing=Retrying said, of all clusters
        self.changed = asyncio.Event()

    def counts(self, since=0):
        return collections.Counter(" ".join(entry) for entry in self.history[since:])

    def note(self, what, kind, name):
        self.history.append((what, kind, name))
        self.times.append(time.time())

    def told(self, since):
        """[(time, what)]"""
        return list(zip(self.times[since:], (" ".join(entry) for entry in self.history[since:])))


def time_of_day(at):
    return time.strftime("%H:%M:%S", time.gmtime(at)) + f".{int(at % 1 * 1000):03}"


class World:
    def __init__(self, api):
        self.api = api
        self.spaces = collections.defaultdict(Namespace)
        self.listeners = []  # called with (type, kind, object)
        self.tasks = []
        self.failed = None

    async def start(self):
        for kind in KINDS:
            version = await self._list(kind)
            self.tasks.append(asyncio.create_task(self._watch(kind, version)))

    def stop(self):
        for task in self.tasks:
            task.cancel()

    async def _list(self, kind):
        for _ in range(100):  # a server that has just learned of a kind says 404, or 429: storage is (re)initializing
            document = (await self.api.request("GET", f"{KINDS[kind]}/{kind}")).json()
            if "items" in document:
                break
            await asyncio.sleep(0.1)
        else:
            raise HttpError(f"list of {kind}: {document}")
        for item in document["items"]:
            self._event("ADDED", kind, item)
        return document["metadata"]["resourceVersion"]

    async def _watch(self, kind, version):
        """The server ends watches now and then: they go on from the last version."""
        while True:
            path = f"{KINDS[kind]}/{kind}?watch=1&allowWatchBookmarks=true&timeoutSeconds=3000&resourceVersion={version}"
            head, connection = await self.api.stream("GET", path)
            try:
                async for line in read_lines(connection[0], head):
                    event = json.loads(line)
                    if event["type"] == "ERROR":
                        self.failed = f"watch of {kind}: {event['object']}"
                        return
                    version = event["object"]["metadata"]["resourceVersion"]
                    if event["type"] != "BOOKMARK":
                        self._event(event["type"], kind, event["object"])
            except (HttpError, OSError, asyncio.IncompleteReadError):
                pass
            finally:
                connection[1].close()

    def _event(self, change, kind, item):
        meta = item["metadata"]
        space = self.spaces[meta["namespace"]]
        live = space.items[kind]
        old = live.get(meta["name"])
        if not is_background(kind, item):
            self._note(space, change, kind, old, item)
            if change == "DELETED":
                live.pop(meta["name"], None)
            else:
                live[meta["name"]] = item
        for listener in self.listeners:
            listener(change, kind, item)
        space.changed.set()

    @staticmethod
    def _note(space, change, kind, old, item):
        name = item["metadata"]["name"]
        if kind == "mysqlclusters":
            conditions = (item.get("status") or {}).get("conditions") or []
            space.retries += [each["message"] for each in conditions if each["reason"] == "Retrying"]
        if change in ("ADDED", "DELETED"):
            space.note("created" if change == "ADDED" else "deleted", kind, name)
        elif kind == "secrets" and old:
            before, after = old.get("data") or {}, item.get("data") or {}
            for key in sorted(before.keys() | after.keys()):
                learns = name.endswith("-terminal") and key == "my.cnf"  # what the server is, sooner or later
                if before.get(key) != after.get(key) and not learns:
                    space.note("changed", kind, f"{name}:{key}")

    # ---- the normal form ----

    def dump(self, namespace, names):
        """Lines of text; names maps texts that vary by design (the size of a volume) to placeholders."""
        lines = []
        for kind, items in self.spaces[namespace].items.items():
            for name in sorted(items):
                text = json.dumps(normal_form(kind, items[name]), indent=1, sort_keys=True)
                for pattern, placeholder in NORMAL:
                    text = pattern.sub(placeholder, text)
                text = text.replace(namespace, "<namespace>")
                for value, placeholder in names.items():
                    text = text.replace(value, placeholder)
                lines += [f"{kind}/{name}: {line}" for line in text.splitlines()]
        return lines


async def openssl(*arguments, stdin=b""):
    process = await asyncio.create_subprocess_exec(
        "openssl", *arguments, stdin=asyncio.subprocess.PIPE, stdout=asyncio.subprocess.PIPE, stderr=asyncio.subprocess.STDOUT
    )
    output, _ = await process.communicate(stdin)
    return process.returncode, output.decode(errors="replace").strip()


async def check_secrets(space, folder, checked):
    """Problems of the Secrets' content: passwords long enough, certificates signed by the cluster's CA, keys that belong to them."""
    problems = []
    for name, secret in space.items["secrets"].items():
        data = {key: base64.b64decode(value) for key, value in (secret.get("data") or {}).items()}
        if name.endswith("-mysql-accounts"):
            problems += [f"{name}: {key} is too short" for key, value in data.items() if len(value) < 16]
        if name.endswith("-mysql-tls"):
            digest = hashlib.sha256(repr(sorted(data.items())).encode()).hexdigest()
            if digest not in checked:
                problems += await _check_pair(name, data, space.items["secrets"].get(name[:-3] + "ca"), folder / digest[:16])
                checked.add(digest)
    return problems


async def _check_pair(name, data, ca_secret, folder):
    if not ca_secret:
        return [f"{name}: no CA"]
    folder.mkdir()
    (folder / "ca").write_bytes(base64.b64decode(ca_secret["data"]["ca.crt"]))
    (folder / "crt").write_bytes(data["tls.crt"])
    (folder / "key").write_bytes(data["tls.key"])
    code, text = await openssl("verify", "-CAfile", str(folder / "ca"), str(folder / "crt"))
    problems = [f"{name}: {text}"] if code else []
    _, of_certificate = await openssl("x509", "-in", str(folder / "crt"), "-noout", "-pubkey")
    _, of_key = await openssl("pkey", "-in", str(folder / "key"), "-pubout")
    if of_certificate != of_key:
        problems.append(f"{name}: the key is not the certificate's")
    return problems
