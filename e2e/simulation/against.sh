#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# against.sh COMMIT [ARGUMENT…]   the simulation against the decision code of an earlier commit: does the machine find what is known of it?
#
# common, operator and agent are those of COMMIT; the simulation laid over them is that of the commit SIMULATION, because a model repeats what the agent of its
# time does around its decisions. By default that is 0af911b, the last one that was written against decisions without reigns. Built in a temporary folder, or in
# KEEP=FOLDER, which is used again as it is. The arguments are those of simulate (its --help); without any, all of regressions/ are run: each is told with what
# it finds there.
set -euo pipefail
cd "$(dirname "$0")/../.."
commit=${1:?COMMIT}
shift
: "${SIMULATION:=0af911b}"
if [[ ${KEEP:-} ]]; then
  tree=$KEEP
else
  tree=$(mktemp -d)
  trap 'rm -rf "$tree"' EXIT
fi
here=$PWD

if [[ ! -x $tree/build/simulate ]]; then
  mkdir -p "$tree"
  git archive "$commit" Makefile build-aux common operator agent | tar x -C "$tree"
  rm -rf "$tree/e2e"
  git archive "$SIMULATION" e2e/simulation | tar x -C "$tree"
  if ! grep -q '^simulation_src' "$tree/Makefile"; then
    sed -n '/^# ---- simulation/,/^# ---- gates/{/^# ---- gates/d;p}' Makefile >> "$tree/Makefile"
  fi
  make -C "$tree" --no-print-directory -j"$(nproc)" QUIET=1 WERROR=0 build/simulate >&2
fi

# Names of files are of this folder.
arguments=()
for argument in "$@"; do
  [[ $argument == -* || $argument == /* ]] || argument=$here/$argument
  arguments+=("$argument")
done
((${#arguments[@]} > 0)) || arguments=(--keep-going "$here"/e2e/simulation/regressions/*.json)
"$tree/build/simulate" "${arguments[@]}" || exit 1
