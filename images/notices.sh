#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# notices.sh NAME MAP FOLDER   what the licences of all that is in the image NAME ask to go with it, as texts in FOLDER:
#   LICENSE            of kube-mysql
#   THIRD-PARTY.txt    what is linked in or beside the program, with its version, and each one's copyright and licence as Debian records them
#   LGPL-2.1.txt       of libmariadb and the C library, which are linked in statically: with the section of THIRD-PARTY.txt how to exchange them
# MAP is the linker's (linked.sh).
set -euo pipefail
name=${1:?usage: notices.sh NAME MAP FOLDER} map=${2:?} folder=${3:?}
cd "$(dirname "$0")/.."
version=$(< VERSION)
list=$(images/linked.sh "$map")
mkdir -p "$folder"
install -m 0644 LICENSE "$folder/LICENSE"
install -m 0644 /usr/share/common-licenses/LGPL-2.1 "$folder/LGPL-2.1.txt"

beside="ca-certificates tzdata"

copyright() { # copyright PACKAGE: Debian's record
  cat "/usr/share/doc/$1/copyright" 2> /dev/null || { echo "notices: no copyright of $1" >&2; return 1; }
}

{
  cat << TEXT
$name $version is under the Apache License 2.0 (the file LICENSE). It contains the work of others:

linked into the program
$(awk -F '\t' '{ printf "  %-24s %-26s %s\n", $3, $4, $6 }' <<< "$list")

beside it
$(for package in $beside; do dpkg-query -W -f '  ${source:Package}  ${source:Version}\n' "$package"; done)

The GNU Lesser General Public License 2.1 (the file LGPL-2.1.txt) covers, of what is linked into this program statically: the C library$([[ $list != *libmariadb* ]] || echo ', MariaDB Connector/C (libmariadb)').
You may change these libraries and link the program anew, and you may take it apart to find faults in such a change.
The sources of the program, its Makefile, and the sources of these libraries as Debian has them come with each release, at the place of its images
(folder sources); how: "Linking anew" in docs/releases.md. Whoever passes images on has to pass these on, too.

The texts that follow are Debian's records of each source package. They are of whole packages; not all that they name is in this image.
TEXT
  for package in $(cut -f1,3 <<< "$list" | awk -F '\t' '!seen[$2]++ { print $1 }') $beside; do
    printf '\n%s\n%s\n\n' "$(printf '=%.0s' {1..100})" "$package"
    copyright "$package"
  done
} > "$folder/THIRD-PARTY.txt"
chmod 0644 "$folder/THIRD-PARTY.txt"
