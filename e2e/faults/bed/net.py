# SPDX-License-Identifier: Apache-2.0
"""net: network namespaces on one bridge, and what is done to the links between them.

The bed lives in namespaces of its own (run.sh), so nothing here touches the machine's network, and all of it is gone with the bed's first process.
Names are those of pods, of operators (op-0, op-1), "api" and "client". A cut outlives the namespace that it was made for: a pod that comes back under the
same name is cut off again.
"""
import ctypes
import os
import socket
import subprocess
import threading
import time

CLONE_NEWNET = 0x40000000
HUB = "10.200.0.2"
FIXED = {"api": "10.200.0.1", "op-0": "10.200.0.11", "op-1": "10.200.0.12", "client": "10.200.0.20"}
LIBC = ctypes.CDLL(None, use_errno=True)


def run(*argv, stdin=None):
    result = subprocess.run(argv, input=stdin, capture_output=True, text=True)
    if result.returncode:
        raise RuntimeError(f"{' '.join(argv)}: {result.stderr.strip()}")
    return result.stdout


def inside(name):
    """Words before a command that is to run in that namespace."""
    return ["nsenter", f"--net=/run/netns/{name}", "--"]


class Net:
    def __init__(self, tools):
        self.tools = tools  # folder of slow_link
        self.address = {}
        self.cuts = set()  # (from, to)
        self.slow = {}  # name: process
        self.next_pod = 0
        self.routes = {}
        self.own = os.open("/proc/self/ns/net", os.O_RDONLY)
        self.lock = threading.Lock()
        self.links = threading.RLock()  # around addresses, cuts and their rules: pods come and go in threads

    def start(self):
        run("ip", "link", "set", "lo", "up")
        run("ip", "link", "add", "hub", "type", "bridge")
        run("ip", "addr", "add", f"{HUB}/16", "dev", "hub")
        run("ip", "link", "set", "hub", "up")
        for name, address in FIXED.items():
            self.add(name, address)
        # Services are reached only by the client, which stands for its node's kube-proxy too.
        run(*inside("client"), "ip", "route", "add", "10.96.0.0/16", "dev", "eth0")
        run(*inside("client"), "iptables", "-w", "-t", "nat", "-N", "SERVICES")
        run(*inside("client"), "iptables", "-w", "-t", "nat", "-A", "OUTPUT", "-j", "SERVICES")
        run(*inside("client"), "iptables", "-w", "-N", "SERVICES")
        run(*inside("client"), "iptables", "-w", "-A", "OUTPUT", "-m", "conntrack", "--ctstate", "NEW", "-j", "SERVICES")

    def take_address(self):
        self.next_pod += 1
        return f"10.200.{1 + (self.next_pod >> 7)}.{1 + (self.next_pod & 127)}"

    def add(self, name, address):
        link = "v" + address.replace("10.200.", "").replace(".", "-")
        run("ip", "netns", "add", name)
        run("ip", "link", "add", link, "type", "veth", "peer", "name", "eth0", "netns", name)
        run("ip", "link", "set", link, "master", "hub", "up")
        run("ip", "-n", name, "addr", "add", f"{address}/16", "dev", "eth0")
        run("ip", "-n", name, "link", "set", "lo", "up")
        run("ip", "-n", name, "link", "set", "eth0", "up")
        with self.links:
            self.address[name] = address
            for source, target in self.cuts:
                if name in (source, target):
                    self._rule("-I", source, target)

    def add_surely(self, name, address):
        """On a busy machine a link was gone again at once, together with a namespace that had just taken the place of another one."""
        for _ in range(3):
            try:
                return self.add(name, address)
            except RuntimeError as error:
                print(f"bed: {name} gets its network anew: {error}", flush=True)
                subprocess.run(["ip", "netns", "del", name], capture_output=True)
                time.sleep(0.2)
        return self.add(name, address)

    def remove(self, name):
        """Nobody is left in it."""
        self.fast(name)
        with self.links:
            for source, target in self.cuts:
                if source == name and target in self.address:
                    self._rule("-D", source, target)
            self.address.pop(name, None)
        run("ip", "netns", "del", name)

    # ---- cuts ----

    def _rule(self, what, source, target):
        if source in self.address and target in self.address:
            run(*inside(target), "iptables", "-w", what, "INPUT", "-s", self.address[source], "-j", "DROP")

    @staticmethod
    def pairs(sources, targets, both=True):
        """(from, to) of each source and each target; the other way round too, if `both`."""
        pairs = {(source, target) for source in sources for target in targets if source != target}
        return pairs | {(target, source) for source, target in pairs} if both else pairs

    def cut(self, sources, targets, both=True):
        """Packets from each source to each target are lost; the other way round too, if `both`."""
        self.cut_pairs(self.pairs(sources, targets, both))

    def cut_pairs(self, pairs):
        with self.links:
            for pair in pairs - self.cuts:
                self.cuts.add(pair)
                self._rule("-I", *pair)

    def join_pairs(self, pairs):
        with self.links:
            for pair in pairs & self.cuts:
                self.cuts.discard(pair)
                self._rule("-D", *pair)

    def heal(self):
        self.join_pairs(set(self.cuts))
        for name in list(self.slow):
            self.fast(name)

    # ---- latency and loss ----

    def slow_down(self, name, delay_ms, loss_percent):
        """Of what leaves that namespace."""
        process = subprocess.Popen(
            inside(name) + [f"{self.tools}/slow_link", "7", str(delay_ms), str(loss_percent)], stdout=subprocess.PIPE, text=True
        )
        if process.stdout.readline().strip() != "ready":
            raise RuntimeError("slow_link does not work here")
        self.slow[name] = process
        run(*inside(name), "iptables", "-w", "-A", "OUTPUT", "-o", "eth0", "-j", "NFQUEUE", "--queue-num", "7", "--queue-bypass")

    def fast(self, name):
        process = self.slow.pop(name, None)
        if process:
            # A node that crashed meanwhile has a new namespace, without the rule.
            rule = ["OUTPUT", "-o", "eth0", "-j", "NFQUEUE", "--queue-num", "7", "--queue-bypass"]
            if subprocess.run(inside(name) + ["iptables", "-w", "-C", *rule], stderr=subprocess.DEVNULL, check=False).returncode == 0:
                run(*inside(name), "iptables", "-w", "-D", *rule)
            process.kill()
            process.wait()
            process.stdout.close()

    # ---- the primary Service ----

    def route(self, cluster_ip, address):
        """Connections to the Service go to that address from now on; None: they are refused, as kube-proxy does without endpoints."""
        self.routes[cluster_ip] = address
        nat, filters = "*nat\n:SERVICES -\n", "*filter\n:SERVICES -\n"
        for service, backend in self.routes.items():
            if backend:
                nat += f"-A SERVICES -d {service}/32 -p tcp -m tcp --dport 3306 -j DNAT --to-destination {backend}:3306\n"
            else:
                filters += f"-A SERVICES -d {service}/32 -p tcp -j REJECT --reject-with tcp-reset\n"
        run(*inside("client"), "iptables-restore", "-w", "--noflush", stdin=f"{nat}COMMIT\n{filters}COMMIT\n")

    # ---- sockets of ours in a namespace ----

    def socket_in(self, name):
        """A TCP socket that lives there: as if the one who asks were the pod's own kubelet, whom no cut link concerns."""
        with self.lock:
            target = os.open(f"/run/netns/{name}", os.O_RDONLY)
            try:
                if LIBC.setns(target, CLONE_NEWNET) < 0:
                    raise OSError(ctypes.get_errno(), f"setns {name}")
                made = socket.socket(socket.AF_INET, socket.SOCK_STREAM)
                made.setblocking(False)
                return made
            finally:
                LIBC.setns(self.own, CLONE_NEWNET)
                os.close(target)
