# SPDX-License-Identifier: Apache-2.0
"""floor: what a failover costs without operator, agent and Kubernetes: three servers of the same kind on the same links, and a script that knows at once
that the primary is dead, because it killed it, and does by plain SQL what must be done.

Offers what a cycle asks of a bed.
"""
import asyncio
import contextlib
import os
import signal
import subprocess
import time

from box import UID, Process, make_volume
from watchers import Watchers

NAMES = ("floor-0", "floor-1", "floor-2")
SERVICE_IP = "10.96.255.1"
COMMON = "--no-defaults --datadir=/var/lib/mysql/data --socket=/run/mysqld/mysqld.sock --pid-file=/run/mysqld/mysqld.pid --bind-address=0.0.0.0 " \
    "--skip-name-resolve --log-bin=binlog --sync-binlog=1 --innodb-buffer-pool-size=48M --max-connect-errors=1000000 --read-only=1"
FLAVOURS = {
    "mariadb": {
        "initialise": "mariadb-install-db --no-defaults --datadir=/var/lib/mysql/data --auth-root-authentication-method=normal --skip-test-db",
        "server": f"mariadbd {COMMON} --gtid-strict-mode=1 --log-slave-updates=1 --skip-slave-start --innodb-log-file-size=32M "
                  "--init-rpl-role=SLAVE --rpl-semi-sync-slave-enabled=1 --rpl-semi-sync-master-timeout=3600000 --rpl-semi-sync-master-wait-point=AFTER_SYNC",
        "follow": "STOP SLAVE; CHANGE MASTER TO MASTER_HOST='{}', MASTER_USER='floor', MASTER_PASSWORD='floor', MASTER_CONNECT_RETRY=1, "
                  "MASTER_USE_GTID=current_pos; START SLAVE;",
        "stop": "STOP SLAVE IO_THREAD;", "received": "SHOW SLAVE STATUS\\G", "field": "Gtid_IO_Pos",
        "catch_up": "SELECT MASTER_GTID_WAIT('{}', 10);", "open": "STOP SLAVE; RESET SLAVE ALL; {}SET GLOBAL read_only = 0;",
        "semi_sync": "SET GLOBAL rpl_semi_sync_master_enabled = 1; ", "close": "SET GLOBAL rpl_semi_sync_master_enabled = 0, GLOBAL read_only = 1;",
        "users": "CREATE USER floor@'%' IDENTIFIED BY 'floor'; GRANT REPLICATION SLAVE ON *.* TO floor@'%'; CREATE USER shop@'%' IDENTIFIED BY '{}';",
        "position": "SELECT @@gtid_binlog_pos",
    },
    "mysql": {
        "initialise": "mysqld --no-defaults --initialize-insecure --datadir=/var/lib/mysql/data",
        "server": f"mysqld {COMMON} --gtid-mode=ON --enforce-gtid-consistency=ON --skip-replica-start --mysqlx=OFF --innodb-redo-log-capacity=64M "
                  "--plugin-load-add=semisync_source.so --plugin-load-add=semisync_replica.so --loose-rpl-semi-sync-replica-enabled=1 "
                  "--loose-rpl-semi-sync-source-timeout=3600000",
        "follow": "STOP REPLICA; CHANGE REPLICATION SOURCE TO SOURCE_HOST='{}', SOURCE_USER='floor', SOURCE_PASSWORD='floor', SOURCE_CONNECT_RETRY=1, "
                  "SOURCE_AUTO_POSITION=1, GET_SOURCE_PUBLIC_KEY=1; START REPLICA;",
        "stop": "STOP REPLICA IO_THREAD;", "received": "SHOW REPLICA STATUS\\G", "field": "Retrieved_Gtid_Set",
        "catch_up": "SELECT WAIT_FOR_EXECUTED_GTID_SET('{}', 10);", "open": "STOP REPLICA; RESET REPLICA ALL; {}SET GLOBAL super_read_only = 0, GLOBAL read_only = 0;",
        "semi_sync": "SET GLOBAL rpl_semi_sync_source_enabled = 1; ", "close": "SET GLOBAL rpl_semi_sync_source_enabled = 0, GLOBAL super_read_only = 1;",
        "users": "CREATE USER floor@'%' IDENTIFIED BY 'floor'; GRANT REPLICATION SLAVE ON *.* TO floor@'%'; CREATE USER shop@'%' IDENTIFIED BY '{}';",
        "position": "SELECT REPLACE(@@gtid_executed, '\\n', '')",
    },
}


class Shell:
    """A client that stays connected: what a script at its best would use."""

    async def start(self, path):
        self.process = await asyncio.create_subprocess_exec(
            "mariadb", "--no-defaults", "-uroot", f"--socket={path}", "-n", "-B", "-f", stdin=subprocess.PIPE, stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT, limit=1 << 24,
        )

    async def ask(self, text):
        """Lines of the answers, names of columns included."""
        self.process.stdin.write((text + "\nSELECT 'end-of-answer' AS mark;\n").encode())
        lines = []
        while (line := (await asyncio.wait_for(self.process.stdout.readline(), 20)).decode().rstrip("\n")) != "end-of-answer":
            if self.process.stdout.at_eof():
                raise RuntimeError(f"the client ended at {text[:60]}: {lines[-1:]}")
            lines.append(line)
        return lines[:-1]

    async def stop(self):
        with contextlib.suppress(ProcessLookupError):
            if self.process.returncode is None:
                os.kill(self.process.pid, signal.SIGKILL)
        await self.process.wait()


class Server:
    """As much of a pod as a Process asks for."""

    def __init__(self, floor, name, number):
        self.floor, self.name, self.number, self.namespace = floor, name, number, "floor"
        self.folder = floor.folder / name
        self.address = floor.net.take_address()
        self.process = None
        self.shell = Shell()

    def place(self, folder):
        return self.folder / folder

    def socket(self):
        return self.folder / "run/mysqld.sock"

    async def _run(self, words):
        process = Process(self.floor.image, self, "server", words.split())
        await process.start()
        return process

    async def make(self):
        self.folder.mkdir(parents=True)
        for name in ("run", "tmp", "config", "accounts", "tls"):
            (self.folder / name).mkdir()
            os.chown(self.folder / name, UID, UID)
        make_volume(self.folder / "volume")
        await asyncio.to_thread(self.floor.net.add, self.name, self.address)
        process = await self._run(self.floor.words["initialise"])
        if await process.wait():
            raise RuntimeError(f"{self.name} cannot be initialised: {self.folder}/server.log")
        (self.floor.folder / "sockets" / self.name).symlink_to(self.socket())

    async def start(self):
        self.socket().unlink(missing_ok=True)
        self.process = await self._run(f"{self.floor.words['server']} --server-id={self.number + 1}")
        for _ in range(600):
            await asyncio.sleep(0.05)
            if not self.socket().exists():
                continue
            test = Shell()
            await test.start(self.socket())
            try:
                if (await test.ask("SELECT 1;"))[-1:] == ["1"]:
                    self.shell = test
                    return
            except (RuntimeError, asyncio.TimeoutError, OSError):
                pass  # not yet
            await test.stop()
        raise RuntimeError(f"{self.name} does not start: {self.folder}/server.log")


class History:
    """Api, as far as a cycle looks at it."""

    def __init__(self):
        self.history = []

    @staticmethod
    async def until(_what, test, seconds):
        end = time.monotonic() + seconds
        while time.monotonic() < end:
            if test():
                return True
            await asyncio.sleep(0.05)
        return False


class Floor:
    def __init__(self, bed):
        self.net, self.image, self.options, self.flavour, self.mode = bed.net, bed.image, bed.options, bed.flavour, bed.mode
        self.folder = bed.folder / "floor"
        self.words = FLAVOURS[bed.flavour]
        self.api, self.nodes = History(), self
        self.routed = (SERVICE_IP, None)
        self.dead, self.old, self.fault_ns, self.last_why = None, None, 0, ""
        (self.folder / "sockets").mkdir(parents=True)
        (self.folder / "password").write_text(bed.user_password + "\n")
        self.password = bed.user_password
        self.servers = {name: Server(self, name, number) for number, name in enumerate(NAMES)}
        self.first = NAMES[0]

    async def start(self):
        for server in self.servers.values():
            await server.make()
            await server.start()
        names = [([name], server.address) for name, server in self.servers.items()]
        self.image.more_hosts = names
        self.image.write_hosts(self.image.names)
        first = self.servers[self.first]
        await first.shell.ask(self.words["open"].format(""))
        await first.shell.ask(
            self.words["users"].format(self.password) + "CREATE DATABASE shop; GRANT ALL ON shop.* TO shop@'%';"
            "CREATE TABLE shop.w (n BIGINT AUTO_INCREMENT PRIMARY KEY, cycle INT NOT NULL, thread INT NOT NULL, seq BIGINT NOT NULL,"
            " filler VARCHAR(100) NOT NULL DEFAULT 'abcdefghijklmnopqrstuvwxyzabcdefghijklmnopqrstuvwxyz', KEY (cycle, thread, seq));"
            "CREATE TABLE shop.probe (n INT);"
        )
        for name in NAMES[1:]:
            await self.follow(name, self.first)
        if self.mode == "semiSync":
            await first.shell.ask(self.words["semi_sync"])
        self._publish(self.first)

    async def follow(self, name, source):
        await self.servers[name].shell.ask(self.words["follow"].format(self.servers[source].address))

    def _publish(self, name):
        self.api.history.append((time.monotonic_ns(), len(self.api.history), name))
        self.routed = (SERVICE_IP, self.servers[name].address)
        self.net.route(*self.routed)

    # ---- what a cycle asks ----

    def primary(self):
        return self.api.history[-1][2]

    def members(self):
        return list(NAMES)

    def status(self):
        return {}

    def why(self):
        return ""

    def watch(self, cycle, limit_ms):
        return Watchers(self, cycle, limit_ms)

    async def healthy(self, _seconds=0):
        return True

    async def sql(self, member, text, _seconds=20):
        if member == self.dead:
            raise RuntimeError(f"{member} is dead")
        return [line.split("\t") for line in await self.servers[member].shell.ask(text + ";")][1:]

    async def undo(self):
        """The dead one follows its successor."""
        if self.dead:
            name, self.dead = self.dead, None
            await self.servers[name].start()
            await self.follow(name, self.primary())

    # ---- the failover ----

    async def _received(self, name):
        lines = await self.servers[name].shell.ask(self.words["stop"] + self.words["received"])
        field = self.words["field"] + ":"
        at = next((number for number, line in enumerate(lines) if line.strip().startswith(field)), None)
        if at is None:
            raise RuntimeError(f"{name} is no replica")
        text = lines[at].strip()[len(field):].strip()
        while text.endswith(","):  # a set of several lines
            at += 1
            text += lines[at].strip()
        last = text.replace(":", "-").split("-")[-1]
        return int(last) if last.isdigit() else 0, text

    async def kill_and_promote(self):
        self.dead = self.old
        dead = self.servers[self.old]
        replicas = [name for name in NAMES if name != self.old]
        self.fault_ns = time.monotonic_ns()
        dead.process.send(signal.SIGKILL)
        found = await asyncio.gather(*(self._received(name) for name in replicas))
        (_, position), best = max(zip(found, replicas))
        other = next(name for name in replicas if name != best)
        if position:
            await self.servers[best].shell.ask(self.words["catch_up"].format(position))
        semi_sync = self.words["semi_sync"] if self.mode == "semiSync" else ""
        await self.servers[best].shell.ask(self.words["open"].format(semi_sync))
        await asyncio.gather(self.follow(other, best), asyncio.to_thread(self._publish, best))
        await dead.process.wait()
        await dead.shell.stop()


async def kill_and_promote(floor):
    await floor.kill_and_promote()
