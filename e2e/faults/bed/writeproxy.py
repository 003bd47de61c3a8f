# SPDX-License-Identifier: Apache-2.0
"""writeproxy: stands between one operator and the API server and kills that operator after the Nth write of a failover."""
import asyncio
import ssl
import subprocess

from faultproxy import FaultProxy, Target

from api import NAMESPACE
from net import HUB


class WriteProxy(FaultProxy):
    def __init__(self, bed):
        self.certificate, key = bed.folder / "proxy.crt", bed.folder / "proxy.key"
        subprocess.run([
            "openssl", "req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1", "-nodes", "-days", "2", "-subj", "/CN=writeproxy",
            "-addext", f"subjectAltName=IP:{HUB}", "-keyout", str(key), "-out", str(self.certificate),
        ], check=True, capture_output=True)
        super().__init__(bed.api.connect(), self.certificate, key, NAMESPACE)
        self.left, self.killed_after = 0, None

    async def start(self):
        self.server = await asyncio.start_server(self._serve, HUB, 0, ssl=self.tls, limit=1 << 20)
        self.port = self.server.sockets[0].getsockname()[1]

    def stand_in(self):
        """For Operator.server."""
        return f"https://{HUB}:{self.port}", self.certificate

    def kill_after(self, writes):
        self.left, self.killed_after = writes, None

    async def _exchange(self, head, body, writer):
        target = Target(head.first[0], head.first[1])
        if self.left and target.write and target.counted:
            self.left -= 1
            if not self.left:
                await self._ask(head, body, target)
                self.killed_after = target.text(body)
                self.on_kill()
                return False
        return await super()._exchange(head, body, writer)
