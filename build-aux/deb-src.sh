#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# deb-src.sh   make `apt-get source` work: give apt source entries for the Debian archives that it already uses.
# They go into a file of their own, made from the machine's own entries (so a local mirror stays a local mirror).
# Does nothing when source entries are there. Needs root to write.
set -euo pipefail

have_sources() { [[ -n $(apt-get indextargets 'Created-By: Sources' "Codename: $1" 2>/dev/null) ]]; }

. /etc/os-release
codename=${VERSION_CODENAME:?}
if have_sources "$codename"; then
  exit 0
fi
if [[ $(id -u) != 0 ]]; then
  echo "deb-src: no source entries in apt's configuration; run as root to add them" >&2
  exit 1
fi

dir=/etc/apt/sources.list.d
new=$(mktemp)
trap 'rm -f "$new"' EXIT

# deb822 files: paragraphs of type deb for this release, with the type changed.
for f in "$dir"/*.sources; do
  [[ -f $f && $f != */kube-mysql-src.sources ]] || continue
  awk -v codename="$codename" 'BEGIN { RS = ""; ORS = "\n\n" }
    $0 ~ "(^|\n)Suites:[^\n]*" codename && /(^|\n)Types:[ \t]*deb[ \t]*(\n|$)/ {
      sub(/Types:[ \t]*deb/, "Types: deb-src"); print }' "$f" >> "$new"
done
if [[ -s $new ]]; then
  install -m 644 "$new" "$dir/kube-mysql-src.sources"
else
  # One-line entries.
  for f in /etc/apt/sources.list "$dir"/*.list; do
    [[ -f $f && $f != */kube-mysql-src.list ]] || continue
    awk -v codename="$codename" '$1 == "deb" && $0 ~ codename { sub(/deb/, "deb-src"); print }' "$f" >> "$new"
  done
  [[ -s $new ]] || { echo "deb-src: found no entry for $codename to derive from" >&2; exit 1; }
  install -m 644 "$new" "$dir/kube-mysql-src.list"
fi
apt-get -o DPkg::Lock::Timeout=600 -o Acquire::Retries=3 -q update
have_sources "$codename" || { echo "deb-src: apt still has no source entries" >&2; exit 1; }
