#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""run.py PAGE…   runs the command blocks of these pages of documentation, in order, as a reader would: at a terminal, in
a folder with the checkout's deploy/, on the cluster of KUBECONFIG. What a block prints must be what stands below it.

markdown.py says how blocks are written. A block ends with its first command that fails, and then the run does. One that
only looks (kubectl get, describe, logs, wait, auth can-i) is repeated for a minute, as long as what it prints is something
else. What is exported in a block holds for those behind it.

The file "substitutions" says what a reader puts in, or what is another thing on the local cluster: in each line a text, a
tab, and what takes its place ($NAME in it is of the environment), in blocks, in files and in deploy/samples. Blocks have a
KUBECONFIG of their own, so that they may change its context.
"""
import os
import pty
import re
import shutil
import signal
import subprocess
import sys
import tempfile
import time

import markdown

TOP = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
BLOCK_SECONDS = 600
LOOK_SECONDS = 60
LOOKS = re.compile(r"(watch )?kubectl (-n \S+ )?(get|describe|logs|wait|top|events|auth can-i) ")


def substitutions():
    with open(os.path.join(TOP, "e2e/docs/substitutions"), encoding="utf-8") as file:
        lines = [line.rstrip("\n") for line in file if line.strip() and not line.startswith("#")]
    return [(old, os.path.expandvars(new)) for old, new in (line.split("\t", 1) for line in lines)]


def substituted(text, table):
    for old, new in table:
        text = text.replace(old, new)
    return text


def make_folder(folder, table):
    if os.environ.get("KUBECONFIG"):
        os.environ["KUBECONFIG"] = shutil.copy(os.environ["KUBECONFIG"], os.path.join(folder, ".kubeconfig"))
    for name in ("deploy", "crds"):
        shutil.copytree(os.path.join(TOP, name), os.path.join(folder, name))
    samples = os.path.join(folder, "deploy/samples")
    for name in os.listdir(samples):
        path = os.path.join(samples, name)
        if os.path.isfile(path):
            with open(path, encoding="utf-8") as file:
                text = file.read()
            with open(path, "w", encoding="utf-8") as file:
                file.write(substituted(text, table))


def run(commands, folder):
    """(exit code, lines) of a bash at a terminal of 250 columns."""
    state = os.path.join(folder, ".exported")
    script = f'set -e\n[ ! -f {state} ] || . {state}\ntrap \'export -p > {state}\' EXIT\n{commands}'
    master, terminal = pty.openpty()
    subprocess.run(["stty", "cols", "250", "rows", "60", "-echo"], stdin=terminal, check=True)
    child = subprocess.Popen(["bash", "-c", script], cwd=folder, stdin=terminal, stdout=terminal, stderr=terminal,
                             start_new_session=True)
    os.close(terminal)
    timer = time.monotonic() + BLOCK_SECONDS
    signal.signal(signal.SIGALRM, lambda *_: os.killpg(child.pid, signal.SIGTERM))
    signal.alarm(BLOCK_SECONDS)
    printed = b""
    while True:
        try:
            part = os.read(master, 65536)
        except OSError: # the other side is closed
            break
        if not part:
            break
        printed += part
    os.close(master)
    code = child.wait()
    signal.alarm(0)
    text = re.sub(r"\x1b\[[0-9;?]*[A-Za-z]", "", printed.decode(errors="replace")).replace("\r", "")
    if time.monotonic() >= timer:
        text += f"\nno end within {BLOCK_SECONDS} s\n"
    return code, text.rstrip("\n").split("\n") if text.strip() else []


def try_block(block, table, folder):
    """What is wrong with it, or None."""
    commands = substituted(block.text, table)
    looks = all(LOOKS.match(line) or not line.strip() for line in commands.replace("\\\n", " ").split("\n"))
    end = time.monotonic() + LOOK_SECONDS
    while True:
        code, printed = run(commands, folder)
        wrong = None
        if (code != 0) != block.fails:
            wrong = f"ended with {code}"
        elif block.expected is not None and not markdown.matches(
                substituted("\n".join(block.expected), table).split("\n"), printed):
            wrong = "printed something else"
        if not wrong:
            return None
        if not looks or time.monotonic() >= end:
            return wrong + ":\n" + "\n".join("  | " + line for line in printed)
        time.sleep(1)


def main(pages):
    table = substitutions()
    count = 0
    with tempfile.TemporaryDirectory() as folder:
        make_folder(folder, table)
        for path in pages:
            page = markdown.Page(os.path.join(TOP, path))
            page.path = path
            for block in page.blocks:
                if block.file_name:
                    with open(os.path.join(folder, block.file_name), "w", encoding="utf-8") as file:
                        file.write(substituted(block.text, table))
                if not block.runs:
                    continue
                start = time.monotonic()
                first = block.text.strip().split("\n")[0]
                wrong = try_block(block, table, folder)
                print(f"{path}:{block.line} {'FAILED' if wrong else 'ok'} {time.monotonic() - start:.0f} s: {first}",
                      flush=True)
                if wrong:
                    print(wrong)
                    if block.expected is not None:
                        print("  expected:\n" + "\n".join("  | " + line for line in block.expected))
                    return 1
                count += 1
    print(f"docs: {count} blocks ran")
    return 0 if count else 1


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
