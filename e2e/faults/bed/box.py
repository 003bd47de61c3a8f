# SPDX-License-Identifier: Apache-2.0
"""box: containers without an engine: a process in the namespaces of its pod, in the root of its image, with the pod's folders at the places of
common/agent_api.h.

Images: "mariadb" is this machine's own file system, "mysql" the unpacked image of agent/tests/mysql-root.sh; both under an overlay that nobody keeps, so that
mount points and /etc/passwd can be made. The machine itself is seen below /host: what is built here finds its own libraries there.
"""
import asyncio
import contextlib
import fcntl
import os
import pathlib
import shlex
import signal
import subprocess

from net import inside, run

UID = 999
LIBRARIES = "/host/usr/lib/x86_64-linux-gnu"
FAKETIME = "faketime/libfaketimeMT.so.1"
VOLUME_BYTES = 2 << 30
FIFREEZE, FITHAW = 0xC0045877, 0xC0045878  # linux/fs.h
DEVICES = ("null", "zero", "random", "urandom")
PLACES = {  # of a container: the folder of the pod
    "/var/lib/mysql": "volume", "/run/mysqld": "run", "/tmp": "tmp", "/etc/kube-mysql/config": "config",
    "/etc/kube-mysql/accounts": "accounts", "/etc/kube-mysql/tls": "tls",
}


class Image:
    def __init__(self, flavour, source, folder, agent):
        """`source`: folder with the image's files; `agent`: the program."""
        self.flavour, self.root = flavour, pathlib.Path(folder) / "root"
        self.names, self.more_hosts = [], []
        layers = pathlib.Path(folder) / "layers"
        for each in (self.root, layers):
            each.mkdir()
        run("mount", "-t", "tmpfs", "layers", str(layers))
        for each in ("upper", "work"):
            (layers / each).mkdir()
        run("mount", "-t", "overlay", "bed", "-o", f"lowerdir={source},upperdir={layers}/upper,workdir={layers}/work", str(self.root))
        self._furnish(agent)

    def _furnish(self, agent):
        root = self.root
        for place in list(PLACES) + ["/opt/kube-mysql", "/host", "/proc", "/dev", "/sys", "/var/lib/mysql-files"]:
            (root / place[1:]).mkdir(parents=True, exist_ok=True)
        os.chown(root / "var/lib/mysql-files", UID, UID)
        (root / "etc/passwd").write_text(f"root:x:0:0::/root:/bin/sh\nmysql:x:{UID}:{UID}::/tmp:/bin/false\n")
        (root / "etc/group").write_text(f"root:x:0:\nmysql:x:{UID}:\n")
        (root / "etc/nsswitch.conf").write_text("passwd: files\ngroup: files\nhosts: files\n")
        run("mount", "-t", "proc", "proc", str(root / "proc"))
        run("mount", "-t", "tmpfs", "-o", "mode=755", "dev", str(root / "dev"))
        for name in DEVICES:
            (root / "dev" / name).touch()
            run("mount", "--bind", f"/dev/{name}", str(root / "dev" / name))
        (root / "dev/termination-log").touch()
        (root / "dev/shm").mkdir(mode=0o1777)
        run("mount", "--bind", "/", str(root / "host"))
        self.hosts = root / "etc/hosts"
        self.hosts.write_text("")
        program = root / "opt/kube-mysql/kube-mysql-agent"
        program.write_bytes(pathlib.Path(agent).read_bytes())
        program.chmod(0o755)

    def agent(self, *arguments):
        words = ["/opt/kube-mysql/kube-mysql-agent", *arguments, "--log-format=text"]
        if self.flavour == "mysql":
            words = [f"{LIBRARIES}/ld-linux-x86-64.so.2", "--library-path", LIBRARIES] + words
        return words

    def write_hosts(self, names):
        """One write in place: who reads meanwhile sees the old or the new names."""
        self.names = names
        names = names + self.more_hosts
        text = "127.0.0.1 localhost\n" + "".join(f"{address} {' '.join(words)}\n" for words, address in names)
        with open(self.hosts, "r+b", buffering=0) as file:
            file.write(text.encode().ljust(4096, b"\n"))


def on_disk():
    """FAULTS_VOLUMES=disk: volumes are file systems on loop devices, which can be frozen, but not made full."""
    return os.environ.get("FAULTS_VOLUMES") == "disk"


def freeze_volume(path, frozen):
    """Who writes there, or waits for what was written, hangs until it is thawed: not even SIGKILL ends it before."""
    folder = os.open(path, os.O_RDONLY | os.O_DIRECTORY)
    try:
        fcntl.ioctl(folder, FIFREEZE if frozen else FITHAW, 0)
    finally:
        os.close(folder)


def make_volume(path):
    """A claim's volume: memory, so that it can be full without harm to anybody."""
    path.mkdir()
    if on_disk():
        image = path.with_suffix(".img")
        with open(image, "wb") as file:
            file.truncate(VOLUME_BYTES)
        run("mkfs.ext4", "-q", "-F", str(image))
        run("mount", "-o", "loop", str(image), str(path))
        os.chown(path, UID, UID)
        os.chmod(path, 0o2775)
        return
    run("mount", "-t", "tmpfs", "-o", f"size={VOLUME_BYTES},uid={UID},gid={UID},mode=2775", "volume", str(path))


def fill_volume(path):
    """It is as large as what lies there, and can be emptied by the next function. What is written meanwhile makes the kernel refuse: again, then."""
    for attempts_left in range(20, -1, -1):
        now = os.statvfs(path)
        try:
            return run("mount", "-o", f"remount,size={(now.f_blocks - now.f_bfree) * now.f_frsize}", str(path))
        except RuntimeError:
            if not attempts_left:
                raise


def empty_volume(path):
    run("mount", "-o", f"remount,size={VOLUME_BYTES}", str(path))


def drop_volume(path):
    run("umount", "-l", str(path))
    path.rmdir()
    path.with_suffix(".img").unlink(missing_ok=True)


class Process:
    """One run of one container's command, or of a hook in it."""

    def __init__(self, image, pod, name, words, fake_time=None):
        self.image, self.pod, self.name, self.words, self.fake_time = image, pod, name, words, fake_time
        self.process = None
        self.termination = pod.folder / f"termination-{name}"

    def _script(self):
        root = shlex.quote(str(self.image.root))
        binds = [f"mount --bind {shlex.quote(str(self.pod.place(folder)))} {root}{place}" for place, folder in PLACES.items()]
        binds.append(f"mount --bind {shlex.quote(str(self.termination))} {root}/dev/termination-log")
        environment = {
            "PATH": "/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin", "HOME": "/tmp",
            "POD_NAME": self.pod.name, "POD_NAMESPACE": self.pod.namespace, "POD_IP": self.pod.address,
        }
        if self.fake_time:
            folder = LIBRARIES if self.image.flavour == "mysql" else "/usr/lib/x86_64-linux-gnu"
            environment.update(LD_PRELOAD=f"{folder}/{FAKETIME}", FAKETIME=self.fake_time, DONT_FAKE_MONOTONIC="1", FAKETIME_NO_CACHE="1")
        variables = " ".join(shlex.quote(f"{key}={value}") for key, value in environment.items())
        user = f"setpriv --reuid={UID} --regid={UID} --clear-groups --no-new-privs"
        return " && ".join(binds) + f" && exec chroot {root} {user} env -i {variables} {shlex.join(self.words)}"

    async def start(self):
        self.termination.write_text("")
        self.termination.chmod(0o666)
        log = open(self.pod.folder / f"{self.name}.log", "ab")
        self.process = await asyncio.create_subprocess_exec(
            *inside(self.pod.name), "unshare", "--mount", "--propagation=private", "--", "sh", "-c", self._script(),
            stdin=subprocess.DEVNULL, stdout=log, stderr=log, start_new_session=True,
        )
        log.close()

    @property
    def pid(self):
        """The command's own: every program before it became it."""
        return self.process.pid if self.process and self.process.returncode is None else 0

    def send(self, number):
        if self.pid:
            with contextlib.suppress(ProcessLookupError):  # it has ended, and nobody has noticed yet
                os.kill(self.pid, number)

    def tree(self):
        """It and what it has started."""
        pids, found = [self.pid] if self.pid else [], []
        while pids:
            pid = pids.pop()
            found.append(pid)
            try:
                threads = os.listdir(f"/proc/{pid}/task")
            except OSError:  # it has ended meanwhile
                continue
            for thread in threads:
                with contextlib.suppress(OSError):
                    pids += [int(word) for word in pathlib.Path(f"/proc/{pid}/task/{thread}/children").read_text().split()]
        return found

    def kill(self):
        for pid in self.tree():
            try:
                os.kill(pid, signal.SIGKILL)
            except ProcessLookupError:
                pass

    async def wait(self):
        return await self.process.wait()
