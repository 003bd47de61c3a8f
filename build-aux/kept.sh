#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# kept.sh   (sourced) what runs of the tests leave for later runs on the same machine, in ${XDG_CACHE_HOME:-~/.cache}/kube-mysql/results:
#
#   COMMIT/stages    a line "NAME PASSED FAILED SKIPPED UNSTEADY SECONDS ENDED" for each stage that came to its end on that commit
#   COMMIT/stories   a line "NAME RC SECONDS ENDED" for each end-to-end story
#   seconds          a line "STAGE SECONDS" for each stage, of the last run on any commit: what the next run takes, about
#
# ENDED is in seconds since 1970. Of several lines of one name the last counts. Results of a checkout with changes that are not committed belong to no commit and are
# not kept; a folder is removed when 20 later commits have one.

kept_root=${XDG_CACHE_HOME:-$HOME/.cache}/kube-mysql/results

# kept_folder: the folder of this checkout's commit; nothing, and 1, where there is none
kept_folder() {
  local commit
  commit=$(git rev-parse HEAD 2> /dev/null) && [[ -z $(git status --porcelain 2> /dev/null) ]] && echo "$kept_root/$commit"
}

# kept_add FILE NAME FIELD…: FILE is "stages" or "stories"
kept_add() {
  local folder old
  folder=$(kept_folder) || return 0
  if [[ ! -d $folder ]]; then
    mkdir -p "$folder"
    # shellcheck disable=SC2012 # names are hashes of commits
    ls -1dt "$kept_root"/*/ | tail -n +21 | while read -r old; do rm -rf "$old"; done
  fi
  echo "${*:2} $(date +%s)" >> "$folder/$1"
}

# kept_get FILE NAME: the fields behind NAME of its last line; 1 where there is none
kept_get() {
  local folder
  folder=$(kept_folder) && [[ -f $folder/$1 ]] || return 1
  awk -v name="$2" '$1 == name { line = $0; found = 1 } END { sub(/^[^ ]+ /, "", line); print line; exit !found }' "$folder/$1"
}

# kept_ago ENDED: for people
kept_ago() {
  local minutes=$((($(date +%s) - $1) / 60))
  if ((minutes < 120)); then echo "$minutes minutes ago"; else echo "$((minutes / 60)) hours ago"; fi
}

# kept_seconds_add STAGE SECONDS, kept_seconds STAGE DEFAULT
kept_seconds_add() {
  mkdir -p "$kept_root"
  { grep -v "^$1 " "$kept_root/seconds" 2> /dev/null; echo "$1 $2"; } > "$kept_root/seconds.$$"
  mv "$kept_root/seconds.$$" "$kept_root/seconds"
}
kept_seconds() { awk -v name="$1" -v seconds="$2" '$1 == name { seconds = $2 } END { print seconds }' "$kept_root/seconds" 2> /dev/null || echo "$2"; }
