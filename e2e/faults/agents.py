# SPDX-License-Identifier: Apache-2.0
"""agents: stand in for the agents and servers of database pods, so far as the operator can tell.

A Fleet is the members of one cluster: what outlives pods. An Agent is one pod's process on port 8443 of the pod's address, with the certificate
of the cluster's Secret: GET /v1/status?watch=1, PUT /v1/role (common/agent_order.h). First it is `init` and waits for an order with `seed`;
then, under another boot id, the agent of a server that is read-only and follows nobody until it is told what to be. It does not tell its my.cnf.

Data is a number: there is one history of transactions, and a member has the first N of them. Whoever is open adds to it.

What must hold whatever the operator goes through is checked here; the first breach is kept in Fleet.problem and fails the case:
  - two members never take writes at the same time (I1)
  - an order comes only after the cluster's status says its epoch and primary (I2)
  - who is opened has every transaction that anybody had while open
  - a database is made only where there is none (I8)
  - data is replaced only by data that has all of it (I7)
"""
import asyncio
import base64
import hashlib
import json
import os
import ssl
from urllib.parse import parse_qsl

from http11 import HttpError, encode, read_body, read_head

PORT = 8443
LINE_SECONDS = 0.5
STEP_SECONDS = 0.01  # what an order takes
COPY_SECONDS = 0.05
RETRY_SECONDS = 0.1


def order_hash(body):
    """As agent_order_hash: FNV-1a of the encoding without waitFor."""
    order = {key: value for key, value in json.loads(body).items() if key != "waitFor"}
    state = 0xCBF29CE484222325
    for byte in json.dumps(order, separators=(",", ":"), ensure_ascii=False).encode():
        state = ((state ^ byte) * 0x100000001B3) & 0xFFFFFFFFFFFFFFFF
    return f"{state:016x}"


def ordinal_of(host):
    name = host.split(".")[0]
    return int(name.rpartition("-")[2]) if name.rpartition("-")[2].isdigit() else None


def _is_next_after(status, name, named, order):
    """The next primary follows the old one, under the new epoch, until that one has closed; when we look again that may be over."""
    changes = [status.get("transition") or {}, status.get("lastSwitchover") or {}]
    return order.get("rotate", False) and any(
        change.get("kind") != "Failover" and (change.get("to"), change.get("from")) == (name, named) for change in changes
    )


class Volume:
    def __init__(self):
        self.has_data, self.executed, self.epoch, self.mark = False, 0, 0, ""


class Fleet:
    """The members of one namespace's cluster."""

    def __init__(self, api, namespace, space, folder):
        self.api, self.space, self.folder = api, space, folder
        self.path = f"/apis/kubemysql.dev/v1alpha1/namespaces/{namespace}/mysqlclusters/db"
        self.checks = set()
        self.volumes = {}  # by uid of the claim
        self.agents = {}  # by ordinal
        self.history = 0
        self.writers = [0]  # server id of each transaction, from number 1 on
        self.problem = None
        self.contexts = {}

    def fail(self, text):
        self.problem = self.problem or text

    def cluster(self):
        return self.space.items["mysqlclusters"].get("db") or {}

    def status(self):
        return self.cluster().get("status") or {}

    def check_order(self, name, order):
        """The watch that feeds us may be behind: what looks like a breach is looked up."""
        if self._breach(name, order, self.status()):
            task = asyncio.create_task(self._check_again(name, order))
            self.checks.add(task)
            task.add_done_callback(self.checks.discard)

    async def _check_again(self, name, order):
        answer = await self.api.request("GET", self.path)
        if answer.status == 200:
            breach = self._breach(name, order, answer.json().get("status") or {})
            if breach:
                self.fail(breach)

    @staticmethod
    def _breach(name, order, status):
        epoch, known = order["epoch"], status.get("epoch", 0)
        named = {"primary": name, "replica": order.get("sourceHost", "").split(".")[0]}.get(order.get("role"))
        if epoch > known:
            return f"I2: {name} got an order of epoch {epoch} while the status says {known}"
        if epoch == known and named and named != status.get("currentPrimary") and not _is_next_after(status, name, named, order):
            return f"I2: {name} was told that {named} is primary of epoch {epoch}, the status says {status.get('currentPrimary')}"
        return None

    def tls(self):
        """None while there is no Secret."""
        secret = self.space.items["secrets"].get("db-mysql-tls")
        data = {key: base64.b64decode(value) for key, value in ((secret or {}).get("data") or {}).items()}
        if not all(data.get(key) for key in ("tls.crt", "tls.key", "ca.crt")):
            return None
        digest = hashlib.sha256(repr(sorted(data.items())).encode()).hexdigest()[:16]
        if digest not in self.contexts:
            path = self.folder / f"agents-{digest}"
            path.mkdir(exist_ok=True)
            for key, value in data.items():
                (path / key).write_bytes(value)
            context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
            context.load_cert_chain(path / "tls.crt", path / "tls.key")
            context.load_verify_locations(path / "ca.crt")
            context.verify_mode = ssl.CERT_REQUIRED
            self.contexts[digest] = context
        return self.contexts[digest]

    def volume(self, name):
        """Of the pod's claim; None while there is none."""
        claim = self.space.items["persistentvolumeclaims"].get(f"data-{name}")
        return self.volumes.setdefault(claim["metadata"]["uid"], Volume()) if claim else None

    def is_first_life(self, volume):
        """Only the claims that exist count: those of an earlier round are gone with their data."""
        uids = {claim["metadata"]["uid"] for claim in self.space.items["persistentvolumeclaims"].values()}
        return not any(other.has_data for uid, other in self.volumes.items() if other is not volume and uid in uids)

    def position(self, count):
        return f"0-{self.writers[count]}-{count}" if count else ""

    def flow(self):
        """Time passes: clients write, replicas follow."""
        for agent in self.agents.values():
            if agent.opened:
                self.history += 1
                self.writers[self.history :] = [agent.server_id]
                agent.volume.executed = self.history
        for agent in self.agents.values():
            if agent.runs and not agent.opened and agent.receives():
                agent.volume.executed = max(agent.volume.executed, self.agents[agent.following].volume.executed)


class Agent:
    def __init__(self, fleet, pod, address, volume, context):
        self.fleet, self.address, self.volume, self.context = fleet, address, volume, context
        self.name, self.uid = pod["metadata"]["name"], pod["metadata"]["uid"]
        self.ordinal = ordinal_of(self.name)
        self.server_id = self.ordinal + 1
        self.changed = asyncio.Event()
        self.streams = set()
        self.tasks = set()
        self.server = None
        self.job = None
        self.ended = False
        self.sequence = 0
        self._new_process(False)

    def _new_process(self, runs):
        self.runs = runs
        self.boot_id = os.urandom(8).hex()
        self.order, self.hash, self.done = {}, "", False
        self.opened, self.following = False, None
        self.step, self.attempts, self.donor = "Waiting", 0, ""

    # ---- life ----

    async def start(self):
        self.fleet.agents[self.ordinal] = self
        await self._open_door()

    async def _open_door(self):
        self.server = await asyncio.start_server(self._serve, self.address, PORT, ssl=self.context, limit=1 << 20)

    async def _close_door(self):
        self.server.close()
        for task in list(self.streams):
            task.cancel()

    async def stop(self):
        self.ended, self.opened, self.runs = True, False, False
        if self.job:
            self.job.cancel()
        if self.fleet.agents.get(self.ordinal) is self:
            del self.fleet.agents[self.ordinal]
        await self._close_door()
        self.tell()

    def is_ready(self):
        return self.runs and (self.opened or (self.following is not None and self.receives()))

    def may_stop(self):
        """The preStop hook: a primary waits for its successor as long as an operator listens."""
        replicas = (self.fleet.cluster().get("spec") or {}).get("replicas", 1)
        return replicas < 2 or not self.opened or not self.streams or not self.fleet.cluster()

    def tell(self):
        self.sequence += 1
        self.changed.set()
        self.changed = asyncio.Event()

    def _awaits(self, source):
        return self.order.get("awaitSource", False) and not (source.opened and source.volume.epoch >= self.order["epoch"])

    def receives(self):
        source = self.fleet.agents.get(self.following)
        return bool(source and source.runs and not self._awaits(source))

    # ---- status ----

    def status(self):
        self.fleet.flow()
        status = {
            "instance": self.name, "podUid": self.uid, "bootId": self.boot_id, "sequence": self.sequence, "phase": "Running" if self.runs else "Seeding",
            "flavour": "mariadb", "version": "10.11.6-MariaDB", "serverId": self.server_id, "ready": self.is_ready(),
            "readyReason": "" if self.is_ready() else "it is not told what to be yet", "readOnly": not self.opened, "writable": self.opened,
            "epoch": self.volume.epoch, "role": self.order.get("role", ""), "orderHash": self.hash, "orderDone": self.done,
            "data": "Database" if self.volume.has_data else "Empty", "mark": self.volume.mark,
        }
        if self.runs:
            executed = self.fleet.position(self.volume.executed)
            status.update(gtidExecuted=executed, gtidReceived=executed)
            if self.following is not None:
                threads = "Running" if self.receives() else "Connecting"
                status.update(receiver=threads, applier="Running", sourceHost=self.order.get("sourceHost", ""), appliedEpoch=self.volume.epoch)
        else:
            status.update(seed=self.step, seedAttempts=self.attempts, seedDonor=self.donor)
        return status

    # ---- orders ----

    def take(self, body):
        """Returns whether the order is taken up."""
        order = json.loads(body)
        if order["epoch"] < self.volume.epoch:
            return False
        self.fleet.check_order(self.name, order)
        self.volume.epoch = order["epoch"]
        if order.get("mark") and not order.get("seed"):
            self.volume.mark = order["mark"]
        text = order_hash(body)
        if text == self.hash:
            return True
        parts = ("seed", "replace", "donorHost")
        goes_on = not self.runs and self.job and not self.job.done() and all(order.get(part) == self.order.get(part) for part in parts)
        self.order, self.hash, self.done = order, text, False
        if not goes_on and self.step != "Done":
            if self.job:
                self.job.cancel()
            self.job = asyncio.create_task(self._become() if self.runs else self._seed())
        self.tell()
        return True

    async def _become(self):
        await asyncio.sleep(STEP_SECONDS)
        role = self.order.get("role", "")
        if role == "primary" and not self.opened:
            await self._catch_up()
            self._open()
        elif role != "primary":
            self.fleet.flow()
            self.opened = False
            self.following = ordinal_of(self.order.get("sourceHost", "")) if role == "replica" else None
        self.done = True
        self.tell()

    async def _catch_up(self):
        wanted = self.order.get("waitFor", "")
        while wanted and self.volume.executed < int(wanted.rpartition("-")[2]):
            self.fleet.flow()
            await asyncio.sleep(STEP_SECONDS)

    def _open(self):
        for other in self.fleet.agents.values():
            if other.opened:
                self.fleet.fail(f"I1: {self.name} (epoch {self.volume.epoch}) is opened while {other.name} (epoch {other.volume.epoch}) takes writes")
        if self.volume.executed != self.fleet.history:
            self.fleet.fail(f"{self.name} is opened with {self.volume.executed} of {self.fleet.history} transactions")
        self.opened, self.following = True, None

    # ---- seeding ----

    async def _seed(self):
        while not self.ended and self.order.get("seed"):
            self.attempts += 1
            if await self._attempt():
                await self._begin_to_run()
                return
            self.step = "Failed"
            self.tell()
            await asyncio.sleep(RETRY_SECONDS)
        self.step = "Waiting"
        self.tell()

    async def _attempt(self):
        seed, volume = self.order["seed"], self.volume
        if (seed == "keep") != volume.has_data and not (seed == "clone" and self.order.get("replace")):
            return False
        self.step, self.donor = ("Copying" if seed == "clone" else "Initialising"), self.order.get("donorHost", "")
        self.tell()
        await asyncio.sleep(COPY_SECONDS if seed == "clone" else STEP_SECONDS)
        if seed == "clone":
            return self._end_copy()
        if seed == "initialise":
            if self.fleet.status().get("initialized") or not self.fleet.is_first_life(volume):
                self.fleet.fail(f"I8: {self.name} initialises in a cluster that has data")
            volume.executed = self.fleet.history = 0
        volume.has_data, volume.mark = True, ""
        return True

    def _end_copy(self):
        self.fleet.flow()
        donor = self.fleet.agents.get(ordinal_of(self.donor))
        if not donor or not donor.runs:
            return False
        if self.volume.has_data and self.volume.executed > donor.volume.executed:
            self.fleet.fail(f"I7: {self.name} has {self.volume.executed} transactions and is replaced by {donor.volume.executed} of {donor.name}")
        self.volume.has_data, self.volume.executed, self.volume.mark = True, donor.volume.executed, ""
        return True

    async def _begin_to_run(self):
        self.step, self.done = "Done", True
        self.tell()
        await asyncio.sleep(STEP_SECONDS)
        await self._close_door()
        self._new_process(True)
        await self._open_door()
        self.tell()

    # ---- the door ----

    def _is_meant(self, asked):
        """common/agent_identity.h"""
        own = {"to": self.name, "uid": self.uid, "boot": self.boot_id}
        return all(asked.get(key, value) == value for key, value in own.items())

    async def _serve(self, reader, writer):
        task = asyncio.current_task()
        self.streams.add(task)
        try:
            while (head := await read_head(reader)) is not None:
                body = await read_body(reader, head)
                path, _, query = head.first[1].partition("?")
                asked = dict(parse_qsl(query))
                if head.first[0] == "GET" and path == "/v1/status" and asked.get("watch") == "1" and self._is_meant(asked):
                    await self._stream(writer)
                    break
                status, answer = 404, b"{}"
                if not self._is_meant(asked):
                    status, answer = 421, b'{"reason":"another agent is meant"}'
                elif head.first[0] == "PUT" and path == "/v1/role":
                    status = 200 if self.take(body) else 409
                    answer = json.dumps({"epoch": self.volume.epoch}).encode()
                writer.write(encode(f"HTTP/1.1 {status} X", {"content-type": "application/json", "content-length": str(len(answer))}, answer))
                await writer.drain()
        except (HttpError, OSError, asyncio.IncompleteReadError, asyncio.CancelledError, ssl.SSLError):
            pass
        finally:
            self.streams.discard(task)
            writer.transport.abort()

    async def _stream(self, writer):
        writer.write(encode("HTTP/1.1 200 X", {"content-type": "application/json", "transfer-encoding": "chunked"}))
        while not self.ended:
            changed = self.changed
            line = json.dumps(self.status()).encode() + b"\n"
            writer.write(b"%x\r\n" % len(line) + line + b"\r\n")
            await writer.drain()
            try:
                await asyncio.wait_for(changed.wait(), LINE_SECONDS)
            except asyncio.TimeoutError:
                pass
