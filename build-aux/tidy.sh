#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# tidy.sh FILE FLAG…   clang-tidy over one C file; FLAGS are the compiler's.
#
# A file that was found clean is not looked at again on this machine, in whatever checkout: an empty file in
# ${XDG_CACHE_HOME:-~/.cache}/kube-mysql/tidy, named by a hash of all that clang-tidy reads (the preprocessed file with its
# comments and macros, the flags, .clang-tidy, the version). AGAIN=1 looks again.
set -euo pipefail
clean=${XDG_CACHE_HOME:-$HOME/.cache}/kube-mysql/tidy
mkdir -p "$clean"

file=$1
shift
hash=$({ cat .clang-tidy && clang-tidy --version && echo "$file $*" && clang -E -CC -dD "$@" "$file"; } | sha256sum)
known=$clean/${hash%% *}
if [[ -e $known && -z ${AGAIN:-} ]]; then
  touch "$known"
  exit 0
fi
log=$(mktemp)
trap 'rm -f "$log"' EXIT
if ! clang-tidy --quiet "$file" -- "$@" > "$log" 2>&1; then
  grep -v 'warnings generated' "$log"
  exit 1
fi
touch "$known"
