# SPDX-License-Identifier: Apache-2.0
"""http11: as much HTTP/1.1 as proxy and simulators need, on asyncio.

Messages are read whole, except bodies that a caller wants to stream (watches). Anything malformed raises HttpError; a connection on which
something went wrong is closed, never used again.
"""
import asyncio
import json
import time

HEAD_MAX = 64 * 1024
KEEP_SECONDS = 30  # a connection that nobody used
BODY_MAX = 64 * 1024 * 1024


class HttpError(Exception):
    """The other side broke the protocol or closed in the middle."""


class Head:
    """First line and headers (names in lower case) of a request or an answer."""

    def __init__(self, first, headers):
        self.first = first
        self.headers = headers

    @property
    def chunked(self):
        return self.headers.get("transfer-encoding", "").lower() == "chunked"

    @property
    def length(self):
        return int(self.headers.get("content-length", "0"))


async def read_head(reader):
    """Returns the next Head, or None when the other side closed between messages."""
    try:
        block = await reader.readuntil(b"\r\n\r\n")
    except asyncio.IncompleteReadError as error:
        if error.partial:
            raise HttpError("closed in a head") from error
        return None
    except (asyncio.LimitOverrunError, OSError) as error:
        raise HttpError(str(error)) from error
    lines = block[:-4].decode("latin-1").split("\r\n")
    headers = {}
    for line in lines[1:]:
        name, _, value = line.partition(":")
        headers[name.strip().lower()] = value.strip()
    return Head(lines[0].split(" ", 2), headers)


async def read_chunks(reader):
    """Yields the chunks of a chunked body."""
    while True:
        size = int((await reader.readuntil(b"\r\n")).split(b";")[0], 16)
        if size > BODY_MAX:
            raise HttpError("chunk too large")
        data = await reader.readexactly(size + 2)
        if size == 0:
            return
        yield data[:-2]


async def read_body(reader, head):
    if head.chunked:
        return b"".join([chunk async for chunk in read_chunks(reader)])
    if head.length > BODY_MAX:
        raise HttpError("body too large")
    return await reader.readexactly(head.length) if head.length else b""


def encode(first, headers, body=b""):
    lines = [first] + [f"{name}: {value}" for name, value in headers.items()]
    return ("\r\n".join(lines) + "\r\n\r\n").encode("latin-1") + body


class Answer:
    def __init__(self, status, headers, body):
        self.status = status
        self.headers = headers
        self.body = body

    def json(self):
        return json.loads(self.body)


class Upstream:
    """The API server: requests over kept connections, streams over their own."""

    def __init__(self, host, port, ssl_context):
        self.host, self.port, self.ssl = host, port, ssl_context
        self.idle = []

    async def connect(self):
        return await asyncio.open_connection(self.host, self.port, ssl=self.ssl, limit=1 << 20)

    def _kept(self):
        """A kept connection that still lives, or None: the API server closes what has been idle for 90 s."""
        while self.idle:
            connection, since = self.idle.pop()
            if time.monotonic() - since < KEEP_SECONDS and not connection[0].at_eof():
                return connection
            connection[1].close()
        return None

    async def _send(self, connection, method, path, headers, body):
        reader, writer = connection
        headers = dict(headers, host=f"{self.host}:{self.port}")
        headers["content-length"] = str(len(body))
        writer.write(encode(f"{method} {path} HTTP/1.1", headers, body))
        await writer.drain()
        head = await read_head(reader)
        if head is None:
            raise HttpError("closed before the answer")
        return head

    async def request(self, method, path, headers=None, body=b""):
        """One exchange; raises HttpError or OSError. A kept connection that turns out dead is replaced when nothing was answered."""
        while True:
            kept = self._kept()
            connection = kept or await self.connect()
            try:
                head = await self._send(connection, method, path, headers or {}, body)
                data = await read_body(connection[0], head)
            except (HttpError, OSError, asyncio.IncompleteReadError) as error:
                connection[1].close()
                if kept and method == "GET":
                    continue
                raise HttpError(f"{method} {path}: {error!r}") from error
            except BaseException:
                connection[1].close()
                raise
            if head.headers.get("connection", "").lower() == "close":
                connection[1].close()
            else:
                self.idle.append((connection, time.monotonic()))
            return Answer(int(head.first[1]), head.headers, data)

    async def stream(self, method, path, headers=None):
        """Returns (head, connection); the caller reads the body and closes connection[1]."""
        connection = await self.connect()
        try:
            return await self._send(connection, method, path, headers or {}, b""), connection
        except BaseException:
            connection[1].close()
            raise

    def close(self):
        for (_, writer), _ in self.idle:
            writer.close()
        self.idle = []


async def read_lines(reader, head):
    """Yields the lines of a streamed body, each with its newline."""
    rest = b""
    if not head.chunked:
        raise HttpError("a stream that is not chunked")
    async for chunk in read_chunks(reader):
        rest += chunk
        while (end := rest.find(b"\n")) >= 0:
            yield rest[: end + 1]
            rest = rest[end + 1 :]
