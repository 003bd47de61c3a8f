# SPDX-License-Identifier: Apache-2.0
"""faultproxy: a TLS proxy between one operator and the API server, which counts requests and spoils one of them.

Every lane (one operator, one namespace) has a proxy of its own. It
  - speaks as the operator's ServiceAccount (impersonation), so that the real RBAC rules hold;
  - narrows lists and watches of namespaced kinds to the lane's namespace, so that lanes do not wake each other;
  - names each request by what it does and how often that was done since the fault was armed: "PATCH statefulsets/db-mysql #2". Numbers alone
    would shift whenever two answers change their order.

Faults of requests (`Fault.kind`):
  409 410 429 500   answered so, not passed on; 429 with Retry-After 1
  500x6             the same, and for five repetitions of the same request: more than the client's own patience
  cut               passed on, the answer breaks off in mid-body
  drop              passed on, no answer: the connection is closed (effect unknown)
  reset             not passed on, the connection is closed
  silence           not passed on, no answer at all
  mute              passed on, no answer at all
                    (both: until the operator gives up; when the world is as it should be without, the connection is closed at last)
  kill              passed on, then the operator is killed (writes only)
Faults of watches; the number is that of the event since the fault was armed:
  watch-cut         breaks off in the middle of the event
  watch-410         an ERROR event "Expired" in place of the event
  watch-end         ends cleanly before the event
  watch-stall       holds this and all later events of the kind back for two seconds: a stale view
"""
import asyncio
import collections
import json
import ssl
import time
from urllib.parse import parse_qs, urlsplit

from http11 import HttpError, encode, read_body, read_head, read_lines

STALL_SECONDS = 2.0
SILENCE_MAX_SECONDS = 120.0
REASONS = {409: "Conflict", 410: "Expired", 429: "TooManyRequests", 500: "InternalError"}
IMPERSONATE = {
    "Impersonate-User": "system:serviceaccount:kube-mysql-system:kube-mysql-operator",
    "Impersonate-Group": "system:authenticated",
}
CLUSTER_SCOPED = {"mysqlconfigs", "namespaces", "storageclasses"}
UNCOUNTED = {"events", "leases"}


class Target:
    """What a path and method mean."""

    def __init__(self, method, url):
        self.method = method
        parts = urlsplit(url)
        self.path, self.query = parts.path, parts.query
        words = [word for word in parts.path.split("/") if word]
        rest = words[2:] if words[:1] == ["api"] else words[3:]
        self.prefix = words[: len(words) - len(rest)]
        self.namespaced = len(rest) > 2 and rest[0] == "namespaces"
        if self.namespaced:
            rest = rest[2:]
        self.resource = rest[0] if rest else ""
        self.name = rest[1] if len(rest) > 1 else ""
        self.subresource = rest[2] if len(rest) > 2 else ""
        self.watch = "watch" in parse_qs(self.query)
        self.list = method == "GET" and bool(self.resource) and not self.name and not self.watch
        self.write = method != "GET"
        self.counted = self.resource not in UNCOUNTED

    def verb(self):
        return "WATCH" if self.watch else "LIST" if self.list else self.method

    def text(self, body):
        name = self.name
        if self.method == "POST" and not name:
            name = (json.loads(body or b"{}").get("metadata") or {}).get("name", "")
        what = "/".join(word for word in (self.resource, name, self.subresource) if word) or self.path
        return f"{self.verb()} {what}"

    def scoped(self, namespace):
        """The path with lists and watches narrowed to one namespace."""
        path = self.path
        if (self.list or self.watch) and not self.namespaced and self.resource not in CLUSTER_SCOPED:
            path = "/" + "/".join(self.prefix + ["namespaces", namespace, self.resource])
        return path + ("?" + self.query if self.query else "")


class Fault:
    """One request or event to spoil. `key` is "PATCH pods/x #1" or, for watches, "EVENT pods #1"."""

    def __init__(self, kind, key):
        self.kind, self.key = kind, key
        self.hits = 0
        self.repeats = 6 if kind == "500x6" else 1
        self.stalled = None

    def takes(self, text, number):
        base, _, at = self.key.rpartition(" #")
        return text == base and int(at) <= number < int(at) + self.repeats


class FaultProxy:
    def __init__(self, upstream, certificate, key, namespace):
        self.upstream, self.namespace = upstream, namespace
        self.tls = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        self.tls.load_cert_chain(certificate, key)
        self.on_kill = None
        self.server = None
        self.port = 0
        self.open = set()
        self.pending = 0  # requests under way, but for hung ones and watches
        self.last_request = 0.0
        self.arm(None)

    async def start(self):
        self.server = await asyncio.start_server(self._serve, "127.0.0.1", 0, ssl=self.tls, limit=1 << 20)
        self.port = self.server.sockets[0].getsockname()[1]

    async def stop(self):
        if self.server:
            self.server.close()
        for task in list(self.open):
            task.cancel()

    def arm(self, fault):
        """Counting begins anew; fault may be None."""
        self.fault = fault
        self.counts = collections.Counter()
        self.seen = []  # keys in order
        self.writes = 0
        self.told = []  # (time, "asks PATCH pods/x #2"), of writes
        self.hung_may_end = asyncio.Event()

    def _count(self, text):
        self.counts[text] += 1
        number = self.counts[text]
        self.seen.append(f"{text} #{number}")
        return number

    def _take(self, text, number):
        fault = self.fault
        if fault is None or not fault.takes(text, number):
            return None
        fault.hits += 1
        return fault

    # ---- connections ----

    async def _serve(self, reader, writer):
        task = asyncio.current_task()
        self.open.add(task)
        try:
            while (head := await read_head(reader)) is not None:
                body = await read_body(reader, head)
                if not await self._exchange(head, body, writer):
                    break
        except (HttpError, OSError, asyncio.IncompleteReadError, asyncio.CancelledError, ssl.SSLError):
            pass
        finally:
            self.open.discard(task)
            writer.transport.abort()

    def _forward_headers(self, head):
        keep = ("accept", "content-type", "user-agent")
        return {**{name: head.headers[name] for name in keep if name in head.headers}, **IMPERSONATE}

    async def _exchange(self, head, body, writer):
        """One request; returns whether the connection can be used again."""
        target = Target(head.first[0], head.first[1])
        if target.watch:
            number = self._count(target.text(body))
            fault = self._take(target.text(body), number)
            if fault:
                return await self._spoil(fault, head, body, target, writer)
            await self._watch(head, target, writer)
            return False
        if not target.counted:
            return await self._pass(head, body, target, writer)
        text = target.text(body)
        self.writes += target.write
        number = self._count(text)
        if target.write:
            self.told.append((time.time(), f"asks {text} #{number}"))
        fault = self._take(text, number)
        if fault:
            return await self._spoil(fault, head, body, target, writer)
        return await self._pass(head, body, target, writer)

    async def _ask(self, head, body, target):
        self.pending += 1
        try:
            # An answer is waited for even if the operator dies meanwhile: the API server does not take writes back either.
            return await asyncio.shield(
                self.upstream.request(target.method, target.scoped(self.namespace), self._forward_headers(head), body)
            )
        finally:
            self.pending -= 1
            self.last_request = asyncio.get_running_loop().time()

    @staticmethod
    def _encode(answer):
        headers = {"content-length": str(len(answer.body))}
        for name in ("content-type", "retry-after"):
            if name in answer.headers:
                headers[name] = answer.headers[name]
        return encode(f"HTTP/1.1 {answer.status} X", headers), answer.body

    async def _pass(self, head, body, target, writer):
        first, data = self._encode(await self._ask(head, body, target))
        writer.write(first + data)
        await writer.drain()
        return True

    # ---- faults ----

    async def _spoil(self, fault, head, body, target, writer):
        kind = fault.kind
        if kind[:3].isdigit():
            await self._refuse(int(kind[:3]), target, writer)
            return True
        if kind in ("cut", "drop", "mute", "kill"):
            answer = await self._ask(head, body, target)
            if kind == "cut":
                first, data = self._encode(answer)
                writer.write(first + data[: len(data) // 2])
                await writer.drain()
            elif kind == "kill":
                self.on_kill()
        if kind in ("silence", "mute"):
            try:
                await asyncio.wait_for(self.hung_may_end.wait(), SILENCE_MAX_SECONDS)
            except asyncio.TimeoutError:
                pass
        return False

    async def _refuse(self, code, target, writer):
        status = {
            "kind": "Status", "apiVersion": "v1", "metadata": {}, "status": "Failure", "code": code,
            "reason": REASONS[code], "message": f"fault injected: {target.verb()} {target.path}",
        }
        body = json.dumps(status).encode()
        headers = {"content-type": "application/json", "content-length": str(len(body))}
        if code == 429:
            headers["retry-after"] = "1"
        writer.write(encode(f"HTTP/1.1 {code} X", headers, body))
        await writer.drain()

    # ---- watches ----

    async def _watch(self, head, target, writer):
        answer, connection = await self.upstream.stream("GET", target.scoped(self.namespace), self._forward_headers(head))
        try:
            if int(answer.first[1]) != 200:
                body = await read_body(connection[0], answer)
                writer.write(encode(f"HTTP/1.1 {answer.first[1]} X", {"content-type": "application/json", "content-length": str(len(body))}, body))
                await writer.drain()
                return
            writer.write(encode("HTTP/1.1 200 OK", {"content-type": "application/json", "transfer-encoding": "chunked"}))
            await writer.drain()
            async for line in read_lines(connection[0], answer):
                if not await self._event(line, target, writer):
                    return
            writer.write(b"0\r\n\r\n")
            await writer.drain()
        finally:
            connection[1].close()

    async def _event(self, line, target, writer):
        """Hands one event on; returns whether the stream goes on."""
        fault = None
        if b'"type":"BOOKMARK"' not in line[:40]:
            text = f"EVENT {target.resource}"
            fault = self._take(text, self._count(text))
        if fault and fault.kind == "watch-stall":
            fault.stalled = asyncio.get_running_loop().time() + STALL_SECONDS
        await self._wait_stalled(target)
        if fault and fault.kind == "watch-cut":
            writer.write(b"%x\r\n" % len(line) + line[: len(line) // 2])
            await writer.drain()
            return False
        if fault and fault.kind == "watch-end":
            writer.write(b"0\r\n\r\n")
            await writer.drain()
            return False
        if fault and fault.kind == "watch-410":
            line = b'{"type":"ERROR","object":{"kind":"Status","apiVersion":"v1","metadata":{},"status":"Failure","message":"too old","reason":"Expired","code":410}}\n'
        writer.write(b"%x\r\n" % len(line) + line + b"\r\n")
        await writer.drain()
        return True

    async def _wait_stalled(self, target):
        fault = self.fault
        if fault and fault.stalled and fault.key.startswith(f"EVENT {target.resource} #"):
            await asyncio.sleep(max(0.0, fault.stalled - asyncio.get_running_loop().time()))
