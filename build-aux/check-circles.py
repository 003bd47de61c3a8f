#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""check-circles.py [--list]   files of one folder must not call each other in a circle.

A file (foo.c with foo.h) uses another of its folder where it names a function that the other one defines for all. Files that use each other, directly or through others,
are a circle: none of them can be understood, tested or moved without the others. build-aux/circles.txt holds those that are there, a line for each ("FOLDER: FILE FILE ...").
The list may only shrink: a circle that is not in it fails, a file that joins one fails, and so does a line that says more than is true any more. --list prints what is true.
"""
import collections
import json
import os
import re
import subprocess
import sys

ALLOWED = "build-aux/circles.txt"


def sources():
    """The C files of the product: no tests, no fuzzers."""
    for top in ("common", "operator", "agent"):
        for folder, folders, files in os.walk(top):
            folders[:] = [name for name in folders if name not in ("tests", "fuzz")]
            for name in files:
                if name.endswith((".c", ".h")):
                    yield f"{folder}/{name}"


def definitions(files):
    """Name of a function that others may call -> the files (without their endings) that define it."""
    out = subprocess.run(["ctags", "--output-format=json", "--languages=C", "--kinds-C=f", "--fields=+f", "-L", "-", "-f", "-"],
                         input="\n".join(files), capture_output=True, text=True, check=True).stdout
    found = collections.defaultdict(set)
    for line in out.splitlines():
        tag = json.loads(line)
        if not tag.get("file") and tag["path"].endswith(".c"):
            found[tag["name"]].add(tag["path"][:-2])
    return found


def words(path):
    """The identifiers of a file's code."""
    with open(path, encoding="utf-8") as file:
        text = file.read()
    text = re.sub(r'//[^\n]*|/\*.*?\*/|"(?:\\.|[^"\\\n])*"', " ", text, flags=re.S)
    return set(re.findall(r"[A-Za-z_]\w*", text))


def uses(files):
    """File -> the files of its folder whose functions it names. What a header only declares is no use."""
    defined = definitions(files)
    graph = collections.defaultdict(set)
    for path in files:
        unit = path[:-2]
        graph[unit]
        if path.endswith(".h"):
            continue
        for name in words(path) & defined.keys():
            graph[unit] |= {other for other in defined[name] if other != unit and os.path.dirname(other) == os.path.dirname(unit)}
    return graph


def circles(graph):
    """Strongly connected components of more than one file (Tarjan), each as a sorted list."""
    number, low, on_stack, stack, found = {}, {}, set(), [], []

    def visit(start):
        work = [(start, iter(sorted(graph[start])))]
        number[start] = low[start] = len(number)
        stack.append(start)
        on_stack.add(start)
        while work:
            node, others = work[-1]
            for other in others:
                if other not in number:
                    number[other] = low[other] = len(number)
                    stack.append(other)
                    on_stack.add(other)
                    work.append((other, iter(sorted(graph[other]))))
                    break
                if other in on_stack:
                    low[node] = min(low[node], number[other])
            else:
                work.pop()
                if work:
                    low[work[-1][0]] = min(low[work[-1][0]], low[node])
                if low[node] == number[node]:
                    members = []
                    while True:
                        member = stack.pop()
                        on_stack.discard(member)
                        members.append(member)
                        if member == node:
                            break
                    if len(members) > 1:
                        found.append(sorted(members))

    for node in sorted(graph):
        if node not in number:
            visit(node)
    return found


def line_of(circle):
    return f"{os.path.dirname(circle[0])}: {' '.join(os.path.basename(member) for member in circle)}"


def main():
    files = sorted(sources())
    found = sorted(line_of(circle) for circle in circles(uses(files)))
    if sys.argv[1:] == ["--list"]:
        print("\n".join(found))
        return 0
    with open(ALLOWED, encoding="utf-8") as file:
        allowed = [line.strip() for line in file if line.strip() and not line.startswith("#")]
    new, gone = [line for line in found if line not in allowed], [line for line in allowed if line not in found]
    for line in new:
        print(f"circles: these call each other in a circle: {line}", file=sys.stderr)
    for line in gone:
        print(f"circles: {ALLOWED} has a line that is not true any more: {line}", file=sys.stderr)
    if not new and not gone:
        knots = sum(len(line.split()) - 1 for line in found)
        print(f"circles: {len(files)} files; {knots} of them call each other in {len(found)} circles, as build-aux/circles.txt says")
    return 1 if new or gone else 0


sys.exit(main())
