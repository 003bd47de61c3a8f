# SPDX-License-Identifier: Apache-2.0
"""machines: what is done to the nodes of the local cluster (e2e/cluster/lib/node.sh): cables pulled, machines stopped, frozen and started again.

node1 shares the machine's own network and is never touched: the clients live there.
"""
import glob
import os
import pathlib
import signal
import subprocess

RUN = pathlib.Path(os.environ.get("KM_RUN", "/var/lib/kube-mysql-e2e"))
NODE = "e2e/cluster/node.sh"
CONTROL_GROUPS = "/sys/fs/cgroup/pids" if os.path.isdir("/sys/fs/cgroup/pids") else "/sys/fs/cgroup"


def run(*argv):
    result = subprocess.run(argv, capture_output=True, text=True)
    if result.returncode:
        raise RuntimeError(f"{' '.join(argv)}: {(result.stderr or result.stdout).strip()[-400:]}")
    return result.stdout


def send(pids, number):
    for pid in pids:
        try:
            os.kill(pid, number)
        except ProcessLookupError:
            pass


def daemon(name):
    """The pid of one of the cluster's daemons; None: it does not run (a pid file may be older than the process that has its number now)."""
    try:
        pid, started, _ = (RUN / "pids" / name).read_text().split()
        stat = pathlib.Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    except (OSError, ValueError):
        return None
    return int(pid) if stat[19] == started and stat[0] not in "ZX" else None


def pids_in(pattern):
    found = []
    for path in glob.glob(f"{CONTROL_GROUPS}/{pattern}/cgroup.procs", recursive=True):
        try:
            found += [int(line) for line in pathlib.Path(path).read_text().split()]
        except OSError:
            pass
    return found


class Machine:
    def __init__(self, name):
        self.name = name
        self.number = int(name.removeprefix("node"))
        self.down = self.frozen = self.stopped = False

    def holder(self):
        """Keeps the node's namespaces: whatever is done to a node, it goes on."""
        return daemon(f"ns{self.number}")

    def pids(self):
        """All processes of the node: those in its mount namespace, and those of containers."""
        mark, found = f" kube-mysql-node:{RUN}/{self.name} ", set(pids_in(f"kube-mysql-{self.name}/**"))
        for path in glob.glob("/proc/[0-9]*/mountinfo"):
            try:
                if mark in pathlib.Path(path).read_text():
                    found.add(int(path.split("/")[2]))
            except OSError:
                pass
        return found - {self.holder()}

    def words_inside(self):
        """Before a command that is to have the node's network; it outlives the node's processes."""
        return [] if self.number == 1 else ["nsenter", f"--net=/run/netns/kmn{self.number}", "--"]

    def cut(self):
        if self.number == 1:
            raise RuntimeError("node1 is the machine itself")
        run("ip", "link", "set", f"kmv{self.number}", "down")
        self.down = True

    def freeze(self):
        send(self.pids(), signal.SIGSTOP)
        self.frozen = True

    def crash(self):
        run(NODE, "crash", str(self.number))
        self.stopped = True

    def kill_daemons(self, *names):
        for name in names:
            pid = daemon(f"{name}{self.number}")
            if not pid:
                raise RuntimeError(f"{name} does not run on {self.name}")
            os.kill(pid, signal.SIGKILL)
        self.stopped = True

    def restore(self):
        """Whatever was done to it."""
        if self.frozen:
            send(self.pids(), signal.SIGCONT)
        if self.down:
            run("ip", "link", "set", f"kmv{self.number}", "up")
        if self.stopped:
            run(NODE, "up", str(self.number))
        self.down = self.frozen = self.stopped = False
