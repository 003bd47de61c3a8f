# SPDX-License-Identifier: Apache-2.0
"""watchers: the clients that write and the sampler that asks, during one cycle, and what their records say afterwards."""
import asyncio
import collections
import dataclasses
import os
import signal
import subprocess

from net import inside

DIRECT, SERVICE = "direct", "service"
SERVICE_THREADS = 2
MAX_ROWS = 200000
PAUSE_US, PERIOD_US = 4000, 3000

Attempt = collections.namedtuple("Attempt", "thread seq start end result server rows")
Change = collections.namedtuple("Change", "what thread seq start end result server")  # of a small table: create, alter, drop
Run = collections.namedtuple("Run", "member state start end")


@dataclasses.dataclass
class Load:
    """What the writer writes, and how often all are asked."""
    words: str = "rows"  # or "mixed": many rows at once and small tables, too
    service_threads: int = SERVICE_THREADS
    pause_us: int = PAUSE_US
    period_us: int = PERIOD_US


class Watchers:
    def __init__(self, bed, cycle, limit_ms, load=Load()):
        self.bed, self.cycle, self.load = bed, cycle, load
        self.folder = bed.folder / "records"
        self.folder.mkdir(exist_ok=True)
        self.routes = [SERVICE] * load.service_threads + [DIRECT] * len(bed.members())
        self.limit_ms = limit_ms
        self.processes = []
        self.attempts, self.acks, self.runs, self.changes = [], [], [], []

    async def _start(self, name, words, where):
        with open(self.folder / name, "wb") as output:
            self.processes.append(await asyncio.create_subprocess_exec(
                *where, f"{self.bed.options.tools}/{words[0]}", *words[1:], stdin=subprocess.DEVNULL, stdout=output, start_new_session=True,
            ))

    async def start(self):
        bed = self.bed
        service = bed.nodes.routed[0]
        hosts = [word for _ in range(self.load.service_threads) for word in (SERVICE, service)] + [word for name in bed.members() for word in (DIRECT, name)]
        await self._start("writer", [
            "fault_writer", self.load.words, "shop", str(bed.folder / "password"), str(self.cycle), str(self.limit_ms), str(self.load.pause_us), str(MAX_ROWS),
            *hosts,
        ], inside("client"))
        await self._start("sampler", [
            "fault_sampler", "shop", str(bed.folder / "password"), str(self.load.period_us),
            *(word for name in bed.members() for word in (name, str(bed.folder / "sockets" / name))),
        ], [])

    def pause(self, paused):
        for process in self.processes:
            os.kill(process.pid, signal.SIGSTOP if paused else signal.SIGCONT)

    async def writes(self, count, seconds):
        """Until each way has got some acknowledgements and each member was asked; returns whether that is so."""
        for _ in range(int(seconds / 0.1)):
            await asyncio.sleep(0.1)
            self._read_writer()
            ways = collections.Counter(self.routes[each.thread] for each in self.acks)
            if ways[SERVICE] >= count and ways[DIRECT] >= count and self._sampled() >= set(self.bed.members()):
                return True
        return False

    def _sampled(self):
        return {line.split()[0] for line in (self.folder / "sampler").read_text().splitlines(keepends=True) if line.endswith("\n")}

    def acknowledged_since(self, since):
        self._read_writer()
        return any(each.start > since and self.routes[each.thread] == SERVICE for each in self.acks)

    def _read_writer(self):
        lines = (self.folder / "writer").read_text().splitlines(keepends=True)
        words = [line.split() for line in lines if line.endswith("\n")]
        self.attempts = [Attempt(*map(int, each)) for each in words if each[0].isdigit()]
        self.changes = [Change(each[0], *map(int, each[1:])) for each in words if not each[0].isdigit()]
        self.acks = [each for each in self.attempts if each.result == 0 and each.seq]

    async def stop(self):
        for process in self.processes:
            if process.returncode is None:
                os.kill(process.pid, signal.SIGTERM)
        for process in self.processes:
            try:
                await asyncio.wait_for(process.wait(), 10)
            except asyncio.TimeoutError:
                os.kill(process.pid, signal.SIGKILL)
                await process.wait()
        self._read_writer()
        self.runs = []
        for line in (self.folder / "sampler").read_text().splitlines():
            name, state, start, end = line.split()
            self.runs.append(Run(name, state, int(start), int(end)))

    # ---- what they say; times in ms after the fault ----

    def acknowledged(self):
        return {(each.thread, each.seq + i) for each in self.acks for i in range(each.rows)}

    def attempted(self):
        return {(each.thread, each.seq + i) for each in self.attempts for i in range(each.rows)}

    def longest_pause_ms(self):
        """Between two acknowledgements to anybody, or from the last one to the last attempt; None: there were none."""
        ends = sorted(each.end for each in self.acks)
        if ends:
            ends.append(max(each.end for each in self.attempts))
        return max((later - earlier for earlier, later in zip(ends, ends[1:])), default=0) / 1e6 if ends else None

    def outage(self, route, fault_ns, elsewhere):
        """From the fault to the first write that began after it and was acknowledged: by another server than number `elsewhere`; None: by any, and the
        longest pause after the fault counts. Returns None when there was none."""
        ends = sorted(each.end for each in self.acks if self.routes[each.thread] == route
                      and each.end > fault_ns and (elsewhere is None or (each.server != elsewhere and each.start > fault_ns)))
        if not ends:
            return None
        if elsewhere is not None:
            return (ends[0] - fault_ns) / 1e6
        before = max((each.end for each in self.acks if self.routes[each.thread] == route and each.end <= fault_ns), default=fault_ns)
        return max(later - earlier for earlier, later in zip([before] + ends, ends)) / 1e6

    def server_before(self, at_ns):
        """The server id that acknowledged last before that; None: nobody did."""
        before = [each for each in self.acks if each.end <= at_ns]
        return max(before, key=lambda each: each.end).server if before else None

    def blind(self, fault_ns, old):
        """Who was not seen as it was before the fault: a sampler that sees nothing finds no fault either."""
        seen = {(run.member, run.state) for run in self.runs if run.start < fault_ns}
        return [name for name in self.bed.members() if (name, "open" if name == old else "closed") not in seen]

    def opened(self, fault_ns, old):
        """When another member took writes for the first time."""
        starts = [run.start for run in self.runs if run.state == "open" and run.member != old and run.end > fault_ns]
        return (min(starts) - fault_ns) / 1e6 if starts else None

    def double_open_ms(self):
        """For how long two members took writes at the same time."""
        runs = [run for run in self.runs if run.state == "open"]
        total = 0
        for i, one in enumerate(runs):
            for other in runs[i + 1:]:
                if one.member != other.member:
                    total += max(0, min(one.end, other.end) - max(one.start, other.start))
        return total / 1e6

    def double_acknowledged(self, reigns):
        """Pairs of servers that acknowledged in turns more often than the primary changed. Returns a text or ""."""
        order = sorted(self.acks, key=lambda each: each.end)
        changes, last = [], None
        for each in order:
            if last and each.server != last.server and each.start > last.end:
                changes.append((last.server, each.server))
            if not last or each.server == last.server or each.start > last.end:
                last = each
        if len(changes) > max(0, reigns - 1):
            return f"acknowledged by {changes}, but the status names {reigns} primaries"
        return ""
