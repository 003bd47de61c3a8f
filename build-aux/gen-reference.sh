#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# gen-reference.sh [--check]   write docs/reference.md from the descriptions in crds/*.yaml; --check only fails if it is not current.
#
# Reads the subset of YAML that the CRDs are written in: block style, two blanks for each level, scalars that may be quoted or go on in
# deeper lines. Every field becomes a row: path, type, default, bounds, description.
set -euo pipefail
cd "$(dirname "$0")/.."
target=docs/reference.md

table() { # table FILE ROOT: rows for everything below ROOT ("spec", "status") of the schema
  awk -v root="$2" '
  function unquote(s) {
    if (s ~ /^\047.*\047$/) { s = substr(s, 2, length(s) - 2); gsub(/\047\047/, "\047", s) }
    else if (s ~ /^".*"$/) { s = substr(s, 2, length(s) - 2); gsub(/\\"/, "\"", s) }
    return s
  }
  # A scalar goes on in lines that are deeper than its key and are no key or list item themselves.
  {
    match($0, /^ */); indent = RLENGTH; text = substr($0, indent + 1)
    if (pending && indent > pending_indent && (open_quote || text !~ /^(- |[A-Za-z$_-][A-Za-z0-9$_-]*:( |$))/)) {
      value[n] = value[n] " " text
      if (open_quote && text ~ /\047$/ && text !~ /[^\047]\047\047$/) open_quote = 0
      next
    }
    pending = 0; open_quote = 0
    item = sub(/^- /, "", text); if (item) indent += 2
    if (text !~ /^[A-Za-z$_-][A-Za-z0-9$_-]*:( |$)/) { n++; depth[n] = indent; key[n] = "-"; value[n] = text; next }
    n++; depth[n] = indent; key[n] = text; sub(/:.*/, "", key[n])
    value[n] = text; sub(/^[^:]*: ?/, "", value[n])
    if (value[n] != "") {
      pending = 1; pending_indent = depth[n]
      open_quote = value[n] ~ /^\047/ && (value[n] !~ /\047$/ || value[n] == "\047")
    }
  }
  function child(i, name,   j) { # the line of key name directly below line i
    for (j = i + 1; j <= n && depth[j] > depth[i]; j++) if (depth[j] == depth[i] + 2 && key[j] == name) return j
    return 0
  }
  function val(i, name,   j) { j = child(i, name); return j ? unquote(value[j]) : "" }
  function list(i, name,   j, out) {
    if (!(j = child(i, name))) return ""
    for (j++; j <= n && key[j] == "-"; j++) out = out (out == "" ? "" : ", ") "`" unquote(value[j]) "`"
    return out
  }
  function type_of(i,   t, j) {
    if (val(i, "x-kubernetes-int-or-string") == "true") return "quantity"
    t = val(i, "type")
    if (t == "array" && (j = child(i, "items"))) return type_of(j) "[]"
    if (t == "object" && (j = child(i, "additionalProperties"))) return "map of " type_of(j)
    return t
  }
  function row(i, path, required,   notes, lo, hi, d) {
    d = val(i, "description"); gsub(/\|/, "\\|", d)
    lo = val(i, "minimum"); hi = val(i, "maximum")
    if (required) notes = " Required."
    if (hi != "") notes = notes " From " lo " to " hi "."
    if (val(i, "maxLength") != "" && val(i, "maxLength") < 1024) notes = notes " At most " val(i, "maxLength") " characters."
    if (child(i, "enum")) notes = notes " One of " list(i, "enum") "."
    if (val(i, "default") != "") notes = notes " Default: `" val(i, "default") "`."
    printf "| `%s` | %s | %s%s |\n", path, type_of(i), d, notes
  }
  function walk(i, path,   p, j, need) {
    # What is known of an object of Kubernetes itself is there for rules only.
    if (val(i, "x-kubernetes-preserve-unknown-fields") == "true") return
    if ((j = child(i, "items"))) { i = j; path = path "[]" }
    if (!(p = child(i, "properties"))) return
    need = ", " list(i, "required") ","
    for (j = p + 1; j <= n && depth[j] > depth[p]; j++) {
      if (depth[j] != depth[p] + 2) continue
      row(j, path "." key[j], index(need, "`" key[j] "`"))
      # The inline configuration is described once, with MysqlConfig.
      if (path "." key[j] != "spec.config.spec") walk(j, path "." key[j])
    }
  }
  END {
    for (i = 1; i <= n; i++) if (key[i] == "openAPIV3Schema") break
    i = child(child(i, "properties"), root)
    if (!i) exit
    print "| field | type | meaning |\n| --- | --- | --- |"
    walk(i, root)
  }' "$1"
}

summary() { # the description of the kind itself
  awk '/openAPIV3Schema:/ { on = 1; next } on && /description:/ { sub(/^ *description: /, ""); text = $0; more = 1; next }
    more && /^ *[a-z]+:/ { gsub(/^\047|\047$/, "", text); gsub(/\047\047/, "\047", text); print text; exit } more { sub(/^ */, ""); text = text " " $0 }' "$1"
}

reference() {
  echo '# Reference'
  echo
  echo "Every field of the kinds of group kubemysql.dev, version v1alpha1. Written from the CRDs by build-aux/gen-reference.sh:"
  echo "change the descriptions in crds/ and deploy/components/, not this page."
  local file kind
  for file in crds/mysqlclusters.yaml crds/mysqlconfigs.yaml crds/mysqlterminals.yaml crds/mysqlbackups.yaml deploy/components/*/crd.yaml; do
    kind=$(awk '/^    kind:/ { print $2 }' "$file")
    printf '\n## %s\n\n%s\n\n' "$kind" "$(summary "$file")"
    [[ $file == crds/* ]] || printf 'Opt-in: it comes with `%s`.\n\n' "${file%/*}"
    awk '/^  scope:/ { printf "Scope: %s.", $2 } /shortNames:/ { getline; sub(/^ *- /, ""); printf " Short name: `%s`.", $0 }' "$file"
    printf '\n\n### %s.spec\n\n' "$kind"
    table "$file" spec
    if grep -q '^            status:$' "$file"; then
      printf '\n### %s.status\n\n' "$kind"
      table "$file" status
    fi
  done
}

if [[ ${1:-} == --check ]]; then
  diff <(reference) "$target" > /dev/null || { echo "docs/reference.md is not what the CRDs say: run build-aux/gen-reference.sh" >&2; exit 1; }
  echo "reference: docs/reference.md is current"
else
  reference > "$target"
fi
