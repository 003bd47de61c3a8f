#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# zoneinfo.sh FOLDER            the time zones of the operator's image, compiled into FOLDER from the source that Debian's tzdata carries.
# zoneinfo.sh --archive FILE    those of the agent's image, for the tables of servers, as one ustar archive (agent/bootstrap/zones.h).
#
# For schedules only the time from now on matters: without history (-r) and without the table of 32-bit times and of years that the rule at the end of
# a file tells anyway (-b slim) a zone has about 140 bytes. All 598 names are 0.55 MB of the layer, 16 KB of it compressed; the files of
# the package as they are 0.93 MB and 153 KB. A table inside the program would be smaller still, but could not be replaced: a newer
# tzdata can be mounted over /usr/share/zoneinfo.
set -euo pipefail
folder=${1:?usage: zoneinfo.sh FOLDER}
archive=
[[ $folder != --archive ]] || archive=${2:?usage: zoneinfo.sh --archive FILE}
source=/usr/share/zoneinfo/tzdata.zi
since=1767225600 # 2026-01-01

if [[ ! -r $source ]]; then
  echo "zoneinfo: $source is missing (apt-get install tzdata)" >&2
  exit 1
fi
zic=$(command -v zic || echo /usr/sbin/zic)
if [[ $archive ]]; then
  folder=$(mktemp -d)
  trap 'rm -rf "$folder"' EXIT
  # Servers look from 1970 to 2037, and take every change from the tables: the 32-bit times are needed. Links are members without content.
  "$zic" -b fat -r @0 -d "$folder" "$source"
  mkdir -p "$(dirname "$archive")"
  tar -C "$folder" --sort=name --numeric-owner --owner=0 --group=0 --mode=u=rwX,go=rX --mtime=@0 --format=ustar -cf "$archive.new" .
  mv "$archive.new" "$archive"
  exit 0
fi
mkdir -p "$folder"
"$zic" -b slim -r "@$since" -d "$folder" "$source"
chmod -R u=rwX,go=rX "$folder"
