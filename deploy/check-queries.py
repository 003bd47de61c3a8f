#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""check-queries.py [FILE…]   every query of the alerts and the dashboards asks for metrics that our code exports, with labels that they have; and of what the
PodMonitor of databases scrapes, all that agents export is kept, and nothing that the operator alone exports. It runs in a checkout of kube-mysql: it reads the
sources.

FILE: a PrometheusRule, PodMonitors (.yaml) or a Grafana dashboard (.json); without any, those of deploy/components. --list prints what is exported: name, type, labels.
--help prints this. It ends with 1 where a query is wrong, with 2 where it could not look.

What is exported is read from the sources of operator, agent and common (tests aside): declarations of struct metric_desc and of the tables of the agent, the
prefixes that their macros put before a name included. A histogram has _bucket, _sum and _count. Every name of a query that is no function, operator or label has
to be one of these, so a misspelt metric is found whatever it begins with. Labels that a scrape adds (SCRAPED) are fine with any metric.
"""
import json
import pathlib
import re
import sys

ROOT = pathlib.Path(__file__).resolve().parent.parent
# Labels of the target: the PodMonitor of deploy/components/pod-monitor sets them; "name" is the cluster's.
SCRAPED = {"namespace", "name", "pod", "job", "instance", "container"}
FUNCTIONS = set("""abs absent absent_over_time avg avg_over_time bottomk ceil changes clamp clamp_max clamp_min count count_over_time delta deriv floor
    histogram_quantile increase irate label_replace last_over_time max max_over_time min min_over_time quantile rate resets round sort sort_desc stddev sum
    sum_over_time time topk vector""".split())
OPERATORS = set("and or unless bool offset inf nan".split())
LISTS = set("by without on ignoring group_left group_right".split())
TOKEN = re.compile(r"""\s*(?:(?P<string>"(?:[^"\\]|\\.)*")|(?P<number>[0-9][0-9.]*(?:e[+-]?[0-9]+)?(?:ms|[smhdwy])?)|(?P<variable>\$\{[^}]*\}|\$\w+)
    |(?P<range>\[[^\]]*\])|(?P<name>[A-Za-z_:][A-Za-z0-9_:]*)|(?P<sign>=~|!~|!=|==|<=|>=|[-+*/%^<>=(){},@]))""", re.X)


def exported(parts=("operator", "agent", "common")):
    """{name: (type, labels)}"""
    found = {}
    for part in parts:
        for path in sorted((ROOT / part).rglob("*.c")):
            text = path.read_text() if not {"tests", "fuzz"} & set(path.parts) else ""
            if "METRIC_" in text:  # in most files it is not, and a search for declarations takes long
                add_declared(text, found)
    for name in [name for name, (kind, _) in found.items() if kind == "histogram"]:
        for end in ("_bucket", "_sum", "_count"):
            found[name + end] = ("counter", found[name][1] - {"le"} | ({"le"} if end == "_bucket" else set()))
    return found


def add_declared(text, found):
    text = re.sub(r"\\\n", " ", text)
    declare_plain(text, found)
    for macro, parameters, body in re.findall(r"^#define (\w+)\(([\w, ]+)\)(.*)$", text, re.M):
        names = re.split(r", *", parameters)
        prefixed = re.search(r'"((?:kubemysql|mysql)_\w*_)" (\w+)\b', body)
        if prefixed and prefixed[2] in names:
            place, prefix = names.index(prefixed[2]), prefixed[1]
        elif "METRIC_HISTOGRAM" in body or macro == "HISTOGRAM":
            place, prefix = 0, ""
        else:
            continue
        for use in re.findall(r"(?<![\w ])[ ]*(?<!define )\b%s\(([^()]*)\)" % macro, text):
            arguments = re.findall(r'"((?:[^"\\]|\\.)*)"', use)
            if len(arguments) == len(names):
                kind = "histogram" if macro == "HISTOGRAM" else kind_of(body)
                found[prefix + arguments[place]] = (kind, labels_of(body))


def declare_plain(text, found):
    """A whole name: its declaration goes on to the end of the initialiser."""
    for match in re.finditer(r'"((?:kubemysql|mysql|process)_[a-z0-9_]*[a-z0-9])"', text):
        end = re.search(r"\};|\}\},?\n|\n\}|$", text[match.end():])
        rest = text[match.end():match.end() + end.end()]
        before = re.search(r"(METRIC_\w+),\s*$", text[:match.start()])
        if before or "METRIC_" in rest:
            beside = re.match(r',\s*"([a-z_]+)"', rest)  # the table of server variables: type, metric, label, value
            found[match[1]] = (kind_of(before[1] if before else rest), {beside[1]} if beside else labels_of(rest))


def kind_of(text):
    kind = re.search(r"METRIC_([A-Z]+)", text)
    return kind[1].lower() if kind else "gauge"


def labels_of(text):
    lists = re.search(r"\.labels = \{([^}]*)\}|METRIC_\w+,\s*\{([^}]*)\}", text)
    return set(re.findall(r'"(\w+)"', (lists[1] or lists[2] or "") if lists else ""))


def queries(path):
    """(where, expression)"""
    text = path.read_text()
    if path.suffix == ".json":
        for panel in walk(json.loads(text)):
            for target in panel.get("targets", []):
                yield panel.get("title", "?"), target["expr"]
            variable = panel.get("query")
            if isinstance(variable, dict) and "query" in variable:
                call = re.fullmatch(r"label_values\((.*), *(\w+)\)", variable["query"])
                yield "variable " + panel["name"], "sum by (%s) (%s)" % (call[2], call[1]) if call else variable["query"]
        return
    for alert, block, line in re.findall(r"- alert: (\w+)\n +expr: (?:\|\n((?: {12}.*\n)+)|(.*)\n)", text):
        yield alert, block or line.strip("'")


def walk(value):
    if isinstance(value, dict):
        yield value
        value = list(value.values())
    if isinstance(value, list):
        for each in value:
            yield from walk(each)


def tokens(expression):
    at = 0
    expression = expression.rstrip()
    while at < len(expression):
        match = TOKEN.match(expression, at)
        if not match:
            raise ValueError("cannot be read at: " + expression[at:at + 20])
        at = match.end()
        yield match.lastgroup, match[match.lastgroup]
    yield "end", ""


def problems(expression, metrics):
    """Names that nothing exports, labels that a metric has not; a query that names no metric."""
    seen, used, inside = [], [], None  # inside: the labels of this metric, or a list of labels (None and "(")
    stream = list(tokens(expression))
    for place, (kind, text) in enumerate(stream[:-1]):
        after = stream[place + 1][1]
        if inside == "list":
            used += [text] if kind == "name" else []
            inside = None if text == ")" else inside
        elif inside:
            if kind == "name" and text not in metrics.get(inside, ("", set()))[1] | SCRAPED and inside in metrics:
                yield "label %s of %s, which has %s" % (text, inside, ", ".join(sorted(metrics[inside][1])) or "none")
            inside = None if text == "}" else inside
        elif text == "{":
            inside = seen[-1] if seen else "?"
        elif kind == "name" and text.lower() in LISTS:
            inside = "list"
        elif kind == "name" and text.lower() not in OPERATORS:
            if after == "(" or text in ("sum", "max", "min", "count", "avg", "topk", "bottomk") and after in LISTS:
                if text not in FUNCTIONS:
                    yield "the function %s, which is not known here" % text
            else:
                seen.append(text)
                if text not in metrics:
                    yield "%s, which nothing exports" % text
    known = set().union(SCRAPED, *(metrics[name][1] for name in seen if name in metrics))
    for label in used:
        if label not in known:
            yield "label %s, which none of its metrics has" % label
    if not seen:
        yield "no metric at all"


def monitor_problems(text):
    """Whoever gives a pod the labels of a database is scraped as one, and must not answer for the operator."""
    databases = [part for part in re.split(r"^---$", text, flags=re.M) if re.search(r"^      app.kubernetes.io/component: database$", part, re.M)]
    for part in databases:
        rules = re.search(r"^      metricRelabelings:\n        - sourceLabels: \[__name__\]\n          regex: (.*)\n          action: keep\n", part, re.M)
        if not rules:
            yield "the PodMonitor of databases keeps whatever a pod exports"
            continue
        agents = set(exported(("agent", "common")))
        for name in sorted(agents):
            if not re.fullmatch(rules[1], name):
                yield "the PodMonitor of databases drops %s, which agents export" % name
        for name in sorted(set(exported(("operator",))) - agents):
            if re.fullmatch(rules[1], name):
                yield "the PodMonitor of databases keeps %s, which is the operator's" % name
    if not databases:
        yield "there is no PodMonitor of databases"


def cannot_look(arguments):
    """Why not; None: it can."""
    for part in ("operator", "agent", "common"):
        if not (ROOT / part).is_dir():
            return "%s is not there: it runs in a checkout of kube-mysql, where it reads the sources" % (ROOT / part)
    for argument in arguments:
        if argument != "--list" and not pathlib.Path(argument).is_file():
            return "%s is no file; --help says what it takes" % argument
    return None


def main(arguments):
    if arguments in (["--help"], ["-h"]):
        print(__doc__.strip())
        return 0
    why = cannot_look(arguments)
    if why:
        print("queries: " + why, file=sys.stderr)
        return 2
    metrics = exported()
    if arguments == ["--list"]:
        for name in sorted(metrics):
            print(name, metrics[name][0], ",".join(sorted(metrics[name][1])) or "-")
        return 0
    components = ROOT / "deploy" / "components"
    files = [pathlib.Path(a) for a in arguments] or sorted(components.glob("*/*.json")) + [
        components / "prometheus-rule" / "prometheus_rule.yaml", components / "pod-monitor" / "pod_monitor.yaml"]
    count, failed = 0, len(metrics) < 100
    for path in files:
        text = path.read_text()
        if re.search(r"^kind: PodMonitor$", text, re.M):
            for each in monitor_problems(text):
                print("queries: %s: %s" % (path.name, each))
                failed = True
            continue
        found = list(queries(path))
        lines = len(re.findall(r"^[ -]*expr:", text, re.M)) if path.suffix != ".json" else len(found)
        if not found or len(found) != lines:
            print("queries: %s has none, or %d of its %d are not in the form that is read here" % (path, lines - len(found), lines))
            failed = True
        for where, expression in found:
            count += 1
            try:
                wrong = list(problems(expression, metrics))
            except ValueError as e:
                wrong = [str(e)]
            for each in wrong:
                print("queries: %s: %s asks for %s" % (path.name, where, each))
                failed = True
    if not failed:
        print("queries: %d of %d files ask for what is exported (%d metrics)" % (count, len(files), len(metrics)))
    return int(failed)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
