#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""check.py [--by-page]   what can be said of the documentation without a cluster:

- each relative link of any page leads to a file that is there, and its fragment to a heading of it;
- a page of the file "pages" has fewer than 300 lines and none of over 120 characters outside of tables and fences, no
  commands that are indented instead of fenced, and, with more than three headings, links to all of them at its top, but
  no entry twice in its table of contents; a story of the name that stands before it is there, and where none does
  ("-"), there are no commands to run;
- each task of the file "tasks" ("PAGE HEADING") has a block of commands that runs;
- ten blocks at most are not run for reasons of their own.

--by-page prints besides how many blocks of each page are run, and the others with the reason.
"""
import glob
import os
import re
import sys

import markdown

TOP = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
LINES_MAX, WIDTH_MAX, NOT_RUN_MAX = 300, 120, 10


def lines_of(name):
    with open(os.path.join(TOP, "e2e/docs", name), encoding="utf-8") as file:
        return [line.rstrip("\n") for line in file if line.strip() and not line.startswith("#")]


def listed_pages():
    return markdown.listed(os.path.join(TOP, "e2e/docs/pages"))


def link_problems(path, pages):
    page = pages[path]
    for line, target in markdown.links(page):
        if re.match(r"[a-z]+:", target):
            continue
        name, _, fragment = target.partition("#")
        other = os.path.normpath(os.path.join(os.path.dirname(path), name)) if name else path
        if not os.path.exists(os.path.join(TOP, other)):
            yield f"{path}:{line}: {target}: there is no such file"
        elif fragment and other in pages and fragment not in [markdown.anchor(h[1]) for h in pages[other].headings]:
            yield f"{path}:{line}: {target}: there is no such heading"


def page_problems(path, page):
    if len(page.lines) > LINES_MAX:
        yield f"{path}: {len(page.lines)} lines; {LINES_MAX} at most"
    for line, text in page.prose:
        if len(text) > WIDTH_MAX and not text.lstrip().startswith(("|", "http", "[", "- [")):
            yield f"{path}:{line}: {len(text)} characters; {WIDTH_MAX} at most"
        if re.match(r"    +(kubectl|deploy/|export|helm|cat|curl) ", text):
            yield f"{path}:{line}: commands stand in a fenced block"
    headings = [h for h in page.headings if h[0] == 2]
    linked = [target for _, target in markdown.links(page)]
    if len(headings) > 3 and path != "README.md":
        for _, text, line in headings:
            if "#" + markdown.anchor(text) not in linked:
                yield f"{path}:{line}: the table of contents lacks this heading"
    yield from contents_problems(path, page)


def contents_problems(path, page):
    """The table of contents: the list items above the first heading of a section that begin with a link into the page."""
    end = next((line for level, _, line in page.headings if level > 1), len(page.lines) + 1)
    text = "\n".join(page.lines[:end - 1])
    seen = set()
    for match in re.finditer(r"^[ ]*[-*] \[(?:`[^`]*`|[^\]`])*\]\((#[^)]*)\)", text, re.M):
        line = text.count("\n", 0, match.start()) + 1
        if match[1] in seen:
            yield f"{path}:{line}: the table of contents has {match[1]} twice"
        seen.add(match[1])


def problems():
    paths = ["README.md", "ARCHITECTURE.md"] + [
        os.path.relpath(path, TOP) for path in glob.glob(os.path.join(TOP, "docs/**/*.md"), recursive=True)]
    paths += [name for name in ("CONTRIBUTING.md", "CHANGELOG.md", "SECURITY.md") if os.path.exists(os.path.join(TOP, name))]
    pages = {}
    for path in sorted(paths):
        pages[path] = markdown.Page(os.path.join(TOP, path))
        pages[path].path = path
    for path in pages:
        yield from link_problems(path, pages)
    not_run = []
    run_pages = []
    for story, path in listed_pages():
        yield from page_problems(path, pages[path])
        if story != "-":
            run_pages.append(path)
            if not os.path.exists(os.path.join(TOP, "e2e/stories", story + ".sh")):
                yield f"{path}: there is no story {story}"
        elif any(b.runs for b in pages[path].blocks):
            yield f"{path}: it has commands, and no story runs them"
        not_run += [b for b in pages[path].blocks if b.why_not and b.why_not not in markdown.LACKING]
    if len(not_run) > NOT_RUN_MAX:
        yield f"{len(not_run)} blocks are not run, {NOT_RUN_MAX} may be"
    for task in lines_of("tasks"):
        path, _, heading = task.partition(" ")
        blocks = [b for b in pages[path].blocks if b.heading == heading] if path in run_pages else []
        if not any(b.runs for b in blocks):
            yield f"{path}: the task '{heading}' has no block that is run"


def main():
    found = list(problems())
    for problem in found:
        print(problem)
    blocks = []
    for _, path in listed_pages():
        of_page = [b for b in markdown.Page(os.path.join(TOP, path)).blocks if b.runs or b.why_not]
        if "--by-page" in sys.argv and of_page:
            print(f"{path}: {sum(b.runs for b in of_page)} run, {sum(bool(b.why_not) for b in of_page)} not")
            for block in of_page:
                if block.why_not:
                    print(f"  {path}:{block.line} {block.why_not}")
        blocks += of_page
    print(f"docs: {len(found)} problems; {sum(b.runs for b in blocks)} blocks are run, "
          f"{sum(bool(b.why_not) for b in blocks)} are not")
    return 1 if found else 0


if __name__ == "__main__":
    sys.exit(main())
