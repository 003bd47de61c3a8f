#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""fault_proxy: a TLS proxy in front of an S3 server, which spoils the requests that it is told to.

    fault_proxy.py DIR ADDRESS UPSTREAM_HOST:PORT CERTIFICATE KEY

Listens on a free port of ADDRESS, which it writes to DIR/port, and hands requests on as they are, but for their connection: Host stays, as signatures cover it. It ends with the process that
started it. DIR/rules has a line for each fault, and may be replaced at any time; counting then begins anew:

    KIND STAGE TIMES [TEXT]     each request of that stage, with TEXT in its path or query, is spoilt so often ("*": always)
    deny ACCESS_KEY             whatever is signed with that key is answered 403 InvalidAccessKeyId

STAGE is begin, part, part.N, complete, abort, manifest, check (manifest.json is read), list, uploads (they are listed), delete, get, put or any. KIND is
    500 403    answered so when the body was read, not passed on
    503        answered at once, without reading the body, and the connection is closed
    slow       passed on two seconds later (slow:N after N)
    cut        not passed on: the connection is closed in the middle of the body
    torn       passed on, the answer breaks off in its middle
    drop       passed on, no answer: the connection is closed
    mute       passed on, no answer at all

DIR/log gets a line for each request: KIND (or "pass"), STAGE, method and target.
"""
import asyncio
import collections
import os
import ssl
import sys
from urllib.parse import parse_qs, unquote, urlsplit

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "faults"))
from http11 import HttpError, encode, read_body, read_head  # noqa: E402

BLOCK = 64 * 1024
CODES = {"500": "InternalError", "503": "ServiceUnavailable", "403": "AccessDenied", "deny": "InvalidAccessKeyId"}
HOP_BY_HOP = {"expect", "connection", "transfer-encoding", "content-length", "keep-alive"}


def stage_of(method, target):
    parts = urlsplit(target)
    query = parse_qs(parts.query, keep_blank_values=True)
    if "partNumber" in query:
        return "part." + query["partNumber"][0]
    if "uploads" in query:
        return "begin" if method == "POST" else "uploads"
    if "uploadId" in query:
        return "complete" if method == "POST" else "abort"
    if "list-type" in query:
        return "list"
    if method == "DELETE":
        return "delete"
    reads = method in ("GET", "HEAD")
    if parts.path.endswith("/manifest.json"):
        return "check" if reads else "manifest"
    return "get" if reads else "put"


class Rules:
    """What the file says, and how often each rule has spoilt each request."""

    def __init__(self, path):
        self.path = path
        self.version = None
        self.rules, self.hits = [], collections.Counter()

    def refresh(self):
        info = os.stat(self.path)
        version = (info.st_ino, info.st_mtime_ns)
        if version != self.version:
            with open(self.path, encoding="ascii") as file:
                self.rules = [line.split() for line in file if line.strip()]
            self.version = version
            self.hits.clear()

    def take(self, method, target, stage, authorization):
        """The kind of fault for this request, or None."""
        self.refresh()
        for number, rule in enumerate(self.rules):
            if rule[0] == "deny":
                if f"Credential={rule[1]}/" in authorization:
                    return "deny"
                continue
            kind, at, times = rule[:3]
            if at not in ("any", stage, stage.partition(".")[0]) or (len(rule) > 3 and rule[3] not in unquote(target)):
                continue
            key = (number, method, target)
            if times == "*" or self.hits[key] < int(times):
                self.hits[key] += 1
                return kind
        return None


class Proxy:
    def __init__(self, folder, upstream):
        self.rules = Rules(os.path.join(folder, "rules"))
        self.log = open(os.path.join(folder, "log"), "a", buffering=1, encoding="utf-8")
        self.upstream = upstream

    async def serve(self, reader, writer):
        try:
            while (head := await read_head(reader)) is not None:
                if not await self.exchange(head, reader, writer):
                    return
        except (HttpError, OSError, asyncio.IncompleteReadError):
            pass
        finally:
            writer.close()

    async def exchange(self, head, reader, writer):
        """One request; returns whether the connection can be used again."""
        method, target = head.first[:2]
        stage = stage_of(method, target)
        kind = self.rules.take(method, target, stage, head.headers.get("authorization", ""))
        self.log.write(f"{kind or 'pass'} {stage} {method} {unquote(target)}\n")
        if kind == "503":
            await self.refuse(kind, method, writer)
            return False
        if head.headers.get("expect", "").lower() == "100-continue":
            writer.write(b"HTTP/1.1 100 Continue\r\n\r\n")
        if kind == "cut":
            await reader.readexactly(head.length // 2)
            return False
        body = await read_body(reader, head)
        if kind not in CODES:
            return await self.forward(head, body, kind or "", reader, writer)
        await self.refuse(kind, method, writer)
        return True

    @staticmethod
    async def refuse(kind, method, writer):
        status = "403" if kind == "deny" else kind
        body = f"<?xml version='1.0'?><Error><Code>{CODES[kind]}</Code><Message>fault injected</Message></Error>".encode()
        headers = {"content-type": "application/xml", "content-length": str(len(body))}
        writer.write(encode(f"HTTP/1.1 {status} X", headers, b"" if method == "HEAD" else body))
        await writer.drain()

    async def forward(self, head, body, kind, client, writer):
        if kind.startswith("slow"):
            await asyncio.sleep(float(kind[5:] or 2))
        reader, up = await asyncio.open_connection(*self.upstream, limit=1 << 20)
        try:
            headers = {name: value for name, value in head.headers.items() if name not in HOP_BY_HOP}
            headers.update({"content-length": str(len(body)), "connection": "close"})
            up.write(encode(" ".join(head.first), headers, body))
            await up.drain()
            answer = await read_head(reader)
            if answer is None:
                raise HttpError("no answer")
            if kind in ("drop", "mute"):
                await self.rest(head, answer, reader)
                if kind == "mute":
                    await client.read()
                return False
            return await self.answer(head, answer, kind, reader, writer)
        finally:
            up.close()

    @staticmethod
    async def rest(head, answer, reader):
        return b"" if head.first[0] == "HEAD" or answer.first[1] == "204" else await read_body(reader, answer)

    async def answer(self, head, answer, kind, reader, writer):
        headers = {name: value for name, value in answer.headers.items() if name not in HOP_BY_HOP}
        whole = await self.rest(head, answer, reader) if answer.chunked or answer.length <= BLOCK else None
        length = len(whole) if whole else answer.length
        if answer.first[1] != "204":
            headers["content-length"] = str(length)
        first = encode(" ".join(answer.first), headers)
        if kind == "torn":
            data = whole if whole is not None else await reader.readexactly(length // 2)
            writer.write(first + data[: length // 2] if data else first[: len(first) // 2])
            await writer.drain()
            return False
        writer.write(first + (whole or b""))
        left = length if whole is None else 0
        while left > 0:
            block = await reader.read(min(left, BLOCK))
            if not block:
                return False
            left -= len(block)
            writer.write(block)
            await writer.drain()
        return True


async def main(folder, address, upstream, certificate, key):
    tls = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    tls.load_cert_chain(certificate, key)
    parent = os.getppid()
    server = await asyncio.start_server(Proxy(folder, upstream.split(":")).serve, address, 0, ssl=tls, limit=1 << 20)
    with open(os.path.join(folder, "port.new"), "w", encoding="ascii") as file:
        file.write(str(server.sockets[0].getsockname()[1]))
    os.rename(os.path.join(folder, "port.new"), os.path.join(folder, "port"))
    while os.getppid() == parent:
        await asyncio.sleep(1)


if __name__ == "__main__":
    asyncio.run(main(*sys.argv[1:]))
