# SPDX-License-Identifier: Apache-2.0
"""What pages of documentation are made of, for run.py and check.py.

A page's fenced blocks:

  ```sh                  commands; run.py runs them
  ```sh fails            commands of which the last one has to fail: what it says is the point
  ```sh not run: WHY     commands that it does not run. WHY is docker, registry or cloud (what no test has), or a sentence;
                         of those with a sentence there are ten at most (check.py)
  ```text                right behind a block of commands: what they print. "…" stands for any text, a line of it alone for
                         any lines; runs of spaces are alike
  ```yaml, ```python, …  one whose first line is a comment with a file's name ("# shop.yaml", "// connect.js") is a file of
                         that name for the commands below it
  anything else          is only read
"""
import re
import unicodedata

LACKING = ("docker", "registry", "cloud")


class Block:
    """One fenced block. line: of its fence, from 1 on. expected: lines of the ```text behind commands, or None."""

    def __init__(self, page, line, heading, info):
        self.page, self.line, self.heading, self.info = page, line, heading, info
        self.language = info.split(" ", 1)[0] if info else ""
        match = re.match(r"sh not run: (.+)", info)
        self.why_not = match.group(1) if match else None
        self.text = ""
        self.expected = None

    @property
    def runs(self):
        return self.language == "sh" and self.why_not is None

    @property
    def fails(self):
        return self.info == "sh fails"

    @property
    def file_name(self):
        match = re.match(r"(?:#|//|<\?php //) ([\w.-]+\.\w+)\n", self.text)
        return match.group(1) if match and self.language not in ("sh", "text") else None

    def where(self):
        return f"{self.page}:{self.line}"


class Page:
    """headings: (level, text, line). blocks: in order, without the ```text blocks that are another's expected output.
    prose: (line, text) of all lines outside of fences."""

    def __init__(self, path):
        self.path, self.headings, self.blocks, self.prose = path, [], [], []
        block, heading, gap = None, "", True
        with open(path, encoding="utf-8") as file:
            self.lines = file.read().split("\n")
        for number, line in enumerate(self.lines, 1):
            fence = re.match(r" {0,3}```(.*)$", line)
            if block and fence and not fence.group(1).strip():
                self._end(block, gap)
                block, gap = None, False
            elif block:
                block.text += line + "\n"
            elif fence:
                block = Block(path, number, heading, fence.group(1).strip())
            else:
                self.prose.append((number, line))
                title = re.match(r"(#+) (.*)$", line)
                if title:
                    heading = title.group(2)
                    self.headings.append((len(title.group(1)), heading, number))
                gap = gap or bool(line.strip())
        if block:
            raise ValueError(f"{block.where()}: the block does not end")

    def _end(self, block, gap):
        last = self.blocks[-1] if self.blocks else None
        if block.language == "text" and last and last.language == "sh" and last.expected is None and not gap:
            last.expected = block.text.rstrip("\n").split("\n")
        else:
            self.blocks.append(block)


def listed(path):
    """(story, page) of each line of the file "pages"; story is "-" where no story runs the page's commands."""
    with open(path, encoding="utf-8") as file:
        return [tuple(line.split()) for line in file if line.strip() and not line.startswith("#")]


def anchor(heading):
    """The fragment by which a heading is linked to, as GitHub and GitLab make it."""
    text = re.sub(r"\[([^]]*)\]\([^)]*\)", r"\1", heading).replace("`", "").strip().lower()
    kept = (c for c in text if c in " -_" or unicodedata.category(c)[0] in "LN")
    return "".join(kept).replace(" ", "-")


def links(page):
    """(line, target) of each link of the prose; targets as they are written."""
    for number, line in page.prose:
        if line.startswith("    "):
            continue
        for match in re.finditer(r"\[(?:[^][]|\[[^]]*\])*\]\(([^)\s]+)\)", re.sub(r"`[^`]*`", "", line)):
            yield number, match.group(1)


def matches(expected, printed):
    """Whether lines that were printed are as the expected ones say."""
    if not expected:
        return not printed
    if expected[0].strip() == "…":
        return any(matches(expected[1:], printed[i:]) for i in range(len(printed) + 1))
    if not printed:
        return False
    words = [".*".join(re.escape(part) for part in word.split("…")) for word in expected[0].split()]
    return re.fullmatch(r"\s*" + r"\s+".join(words) + r"\s*", printed[0]) is not None and matches(expected[1:], printed[1:])
