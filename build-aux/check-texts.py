#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""check-texts.py [--list]   nothing is decided by texts for people.

What something is decided by is a value with a table of names, read once where it arrives and printed once where it leaves (operator/api/condition_reason.h, common/restore_reason.h
and others); the words of Kubernetes are judged in rooms of their own (operator/api/pod_reason.h, pod_answer.h). In the operator, outside of operator/api and operator/kube where
those tables and rooms are, no call compares or searches something that is named message, reason, why, words, phase or state, nor anything with a literal of several words.
build-aux/texts.txt holds those that are there, a line for each ("FILE: CALL"). The list may only shrink: a call that is not in it fails, and so does a line that is not true any
more. --list prints what is true.
"""
import collections
import os
import re
import sys

ALLOWED = "build-aux/texts.txt"
ROOMS = ("operator/api", "operator/kube")
COMPARES = re.compile(r"\b(?:strstr|strcasestr|strcmp|strncmp|strcasecmp|strncasecmp|str_eq|str_starts_with|json_slice_str_eq)\s*\(")
# A word of an identifier; a strvec of words is none.
TEXT = re.compile(r"(?:\b|_)(?:message|reason|why|words(?!\.v)|phase|state)s?(?:\b|_)")
LITERAL = re.compile(r'"(?:\\.|[^"\\\n])*"')
PATH = re.compile(r'"[A-Za-z_.\[\]]+"')  # as json_path_str takes it: "status.phase"
SENTENCE = re.compile(r'"[^"]*[a-z] [^"]*[a-z][^"]*"')


def sources():
    """The C files of the operator: no tests, no fuzzers."""
    for folder, folders, files in os.walk("operator"):
        folders[:] = sorted(name for name in folders if name not in ("tests", "fuzz") and f"{folder}/{name}" not in ROOMS)
        for name in sorted(files):
            if name.endswith((".c", ".h")):
                yield f"{folder}/{name}"


def without_comments(text):
    """What stands in quotes stays."""
    return re.sub(r'("(?:\\.|[^"\\\n])*"|\'(?:\\.|[^\'\\\n])*\')|//[^\n]*|/\*.*?\*/', lambda match: match.group(1) or " ", text, flags=re.S)


def blank(match):
    return '"' + " " * (len(match.group(0)) - 2) + '"'


def end_of(code, at):
    """Behind the bracket that closes the one before `at`; code: without literals."""
    depth = 1
    while depth and at < len(code):
        depth += {"(": 1, ")": -1}.get(code[at], 0)
        at += 1
    return at


def is_of_text(call):
    names = LITERAL.sub(lambda match: match.group(0) if PATH.fullmatch(match.group(0)) else blank(match), call)
    return TEXT.search(names) or SENTENCE.search(call)


def found_in(path):
    with open(path, encoding="utf-8") as file:
        text = without_comments(file.read())
    code = re.sub(r"'(?:\\.|[^'\\\n])+'", lambda match: "'" + " " * (len(match.group(0)) - 2) + "'", LITERAL.sub(blank, text))
    for match in COMPARES.finditer(code):
        call = " ".join(text[match.start():end_of(code, match.end())].split())
        if is_of_text(call):
            yield f"{path}: {call}"


def main():
    files = list(sources())
    found = collections.Counter(line for path in files for line in found_in(path))
    if sys.argv[1:] == ["--list"]:
        print("\n".join(sorted(found.elements())))
        return 0
    with open(ALLOWED, encoding="utf-8") as file:
        allowed = collections.Counter(line.strip() for line in file if line.strip() and not line.startswith("#"))
    new, gone = found - allowed, allowed - found
    for line in sorted(new.elements()):
        print(f"texts: a text for people is compared, make it a value: {line}", file=sys.stderr)
    for line in sorted(gone.elements()):
        print(f"texts: {ALLOWED} has a line that is not true any more: {line}", file=sys.stderr)
    if not new and not gone:
        print(f"texts: {len(files)} files; {found.total()} texts for people are compared, as {ALLOWED} says")
    return 1 if new or gone else 0


sys.exit(main())
