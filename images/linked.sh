#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# linked.sh MAP   which Debian packages the archives come from that the linker took members of, from its map: one line each, sorted, tab between
#   PACKAGE  VERSION  SOURCE  SOURCE-VERSION  ARCHITECTURE  ARCHIVES (by comma)
#
# A static program does not say what is in it, so this is the ground for its list of licences (notices.sh) and its SBOM (sbom.sh). libcurl is built by
# build-aux/static-libs.sh from Debian's source package; its prefix names the version. An archive of no package is an error, but for the project's own.
set -euo pipefail
map=${1:?usage: linked.sh MAP}

# The map begins with "Archive member included…": lines that start with ARCHIVE(MEMBER). Objects that are named in full (crt1.o) are in LOAD lines.
mapfile -t archives < <(awk '/^Archive member included/ { inside = 1 } /^(Discarded|Memory|Allocating|Merging|Linker)/ { inside = 0 }
  inside && /^[^ \t].*\.a\(/ { sub(/\(.*/, ""); print } /^LOAD .*crt[^ ]*\.o$/ { print $2 }' "$map" | sort -u)
((${#archives[@]} > 3)) || { echo "linked: $map names no archives" >&2; exit 1; }

package_of() { # package_of FILE: as dpkg knows it; the archive may be known by a name below /lib
  local real
  real=$(readlink -e "$1") || { echo "linked: $1 does not exist any more" >&2; return 1; }
  { dpkg -S "$real" || dpkg -S "${real#/usr}"; } 2> /dev/null | head -1 | sed 's/: .*//' | grep . ||
    { echo "linked: $1 belongs to no package" >&2; return 1; }
}

for archive in "${archives[@]}"; do
  case $archive in
    */libcommon.a | */liboperator.a | */libagent.a) continue ;;
    */kube-mysql/static-*/lib/libcurl.a)
      version=${archive%/lib/libcurl.a}
      version=${version##*/static-}
      package=$(dpkg-query -W -f '${binary:Package}\n' libcurl4-openssl-dev | head -1)
      printf '%s\t%s\t%s\t%s\t%s\t%s\n' "${package%:*}" "${version%-*}" curl "${version%-*}" \
        "$(dpkg-query -W -f '${Architecture}' "$package")" libcurl.a
      continue
      ;;
  esac
  package=$(package_of "$archive")
  dpkg-query -W -f '${Package}\t${Version}\t${source:Package}\t${source:Version}\t${Architecture}\t' "$package"
  echo "${archive##*/}"
done | sort | awk -F '\t' -v OFS='\t' '
  { key = $1 OFS $2 OFS $3 OFS $4 OFS $5; if (key != last) { if (last != "") print last, list; last = key; list = $6 } else if (index("," list ",", "," $6 ",") == 0) list = list "," $6 }
  END { if (last != "") print last, list }'
