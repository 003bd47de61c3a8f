#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# check-layers.sh [ROOT]   hold the #include lines of ROOT against the two tables in ROOT/ARCHITECTURE.md, which stand
# between `<!-- layers -->` and `<!-- /layers -->`:
#   | folder | may include |          the folder's own files and its row's folders; nothing else of the project
#   | header | only in |              a library header (prefix or whole name) and the files (globs) that may name it
# A file belongs to the longest folder with a row. Files in tests/ and fuzz/ obey the folder they lie in, may include any
# tests/ header of their component and of common, and are free in their choice of libraries, save MySQL's.
set -euo pipefail
root=${1:-$(dirname "$0")/..}
cd "$root"
[[ -f ARCHITECTURE.md ]] || { echo "layers: ARCHITECTURE.md is missing" >&2; exit 1; }

dirs=()
for dir in common operator agent kubectl; do
  [[ ! -d $dir ]] || dirs+=("$dir")
done
files=$(find "${dirs[@]}" /dev/null -name '*.[ch]' | sort)
# shellcheck disable=SC2086 # file names of the project have no spaces
awk '
function trim(s) { gsub(/^[ \t`]+|[ \t`]+$/, "", s); return s }
function glob_to_regex(g) { gsub(/\./, "\\.", g); gsub(/\*/, "[^/]*", g); return "^" g "$" }
function complain(text) { printf "%s:%d: %s\n", FILENAME, FNR, text; bad++ }

# The longest row that is a prefix of the path.
function layer_of(path,   p) {
    p = path
    while (sub(/\/[^\/]*$/, "", p))
        if (p in layers) return p
    return ""
}
function is_test(path) { return path ~ /\/(tests|fuzz)\// }

FILENAME == "ARCHITECTURE.md" {
    if ($0 ~ /<!-- layers -->/) inside = 1
    if ($0 ~ /<!-- \/layers -->/) inside = 0
    if (!inside || $0 !~ /^\|/ || $0 ~ /^\| *:?-/) next
    n = split($0, cell, "|")
    left = trim(cell[2]); right = cell[3]
    if (left == "folder" || left == "header") { table = left; next }
    gsub(/[`,]/, " ", right)
    if (table == "folder") {
        layers[left] = 1
        m = split(right, names, " ")
        for (i = 1; i <= m; i++) allowed[left, names[i]] = 1
    } else if (table == "header") {
        libs[++lib_count] = left; lib_files[lib_count] = right
    }
    next
}

FNR == 1 { mine = layer_of(FILENAME); if (mine == "") complain("its folder has no row in the table of layers") }

/^[ \t]*#[ \t]*include[ \t]*"/ {
    split($0, part, "\""); target = part[2]
    if (target !~ /\//) { complain("\"" target "\": paths of includes start at the top of the tree"); next }
    theirs = layer_of(target)
    if (theirs == mine || (mine, theirs) in allowed) next
    component = FILENAME; sub(/\/.*/, "", component)
    if (is_test(FILENAME) && target ~ /\/tests\// && (index(target, component "/") == 1 || index(target, "common/") == 1)) next
    complain("folder " mine " must not include " target)
}

/^[ \t]*#[ \t]*include[ \t]*</ {
    split($0, part, /[<>]/); header = part[2]
    for (i = 1; i <= lib_count; i++) {
        prefix = libs[i]
        if (header != prefix && !(prefix ~ /\/$/ && index(header, prefix) == 1)) continue
        if (is_test(FILENAME) && prefix !~ /mysql|mariadb/) continue
        ok = 0
        m = split(lib_files[i], globs, " ")
        for (j = 1; j <= m; j++)
            if (FILENAME ~ glob_to_regex(globs[j])) ok = 1
        if (!ok) complain("<" header "> only in:" lib_files[i])
    }
}

END {
    if (length(layers) == 0 || lib_count == 0) { print "layers: no tables found in ARCHITECTURE.md"; exit 1 }
    if (bad) { printf "layers: %d violations\n", bad; exit 1 }
    printf "layers: %d files keep to %d layers\n", ARGC - 2, length(layers)
}' ARCHITECTURE.md $files
