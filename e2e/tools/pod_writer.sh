#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# pod_writer.sh   a client as an application is one, in a pod with any server's image: it needs bash and the image's
# own client, nothing else. sql_writer.c does the same faster and more exactly, where it can be compiled and run.
#
# One connection, one small transaction after the other, and a retry after each error. Row N of table writer.t is
# written until the server says yes; then row N + 1. Environment: WRITER_HOST, WRITER_PORT (3306); the password of
# account "writer" lies in the file WRITER_PASSWORD. In the folder WRITER_DIR (/tmp) it looks for
#   phase   one word: what goes on; another word ends the phase before
#   stop    its end
# and prints
#   GAP start-ms length-ms attempts-that-failed phase [last error]   a pause of GAP_MS or more between two acknowledgements (start: wall clock)
#   PHASE phase rows longest-gap-ms                                  at the end of each phase
#   END acknowledged missing longest-gap-ms errors                   missing: acknowledged rows that are not there when read at the end
# File rows there says how many rows are acknowledged. Exit status 0 only if none is missing.
set -uo pipefail
export LC_ALL=C
: "${WRITER_HOST:?}" "${WRITER_PORT:=3306}" "${WRITER_PASSWORD:?}" "${WRITER_DIR:=/tmp}" "${WRITER_PAUSE:=0.005}"
GAP_MS=25          # shorter ones are a busy machine's
ANSWER_SECONDS=10  # a connection that is silent for so long is given up

client=$(command -v mariadb || command -v mysql) || { echo "this image has no client: neither mariadb nor mysql is in PATH" >&2; exit 2; }
options=("--defaults-file=$WRITER_DIR/client.cnf" --connect-timeout=2 --batch --skip-column-names --unbuffered)
(umask 077 && printf '[client]\nhost=%s\nport=%s\nuser=writer\npassword="%s"\n' "$WRITER_HOST" "$WRITER_PORT" "$(< "$WRITER_PASSWORD")" > "$WRITER_DIR/client.cnf")
rm -f "$WRITER_DIR"/{to,from,never}
mkfifo "$WRITER_DIR"/{to,from,never}
exec {never}<> "$WRITER_DIR/never" # reading it with a time limit is a pause without a process
trap '' PIPE

pid=''
dial() {
  "$client" "${options[@]}" < "$WRITER_DIR/to" > "$WRITER_DIR/from" 2> "$WRITER_DIR/error" &
  pid=$!
  exec {to}> "$WRITER_DIR/to" {from}< "$WRITER_DIR/from"
}
hang_up() {
  [[ -n $pid ]] || return 0
  exec {to}>&- {from}<&-
  kill -KILL "$pid" 2> /dev/null
  wait "$pid" 2> /dev/null
  pid=''
}
# ask SQL   sets answer to the one line that the server answers
ask() {
  [[ -n $pid ]] || dial
  if { printf '%s;\n' "$1" >&"$to"; } 2> /dev/null && read -r -t "$ANSWER_SECONDS" answer <&"$from"; then return 0; fi
  hang_up
  last_error=$(head -c 200 "$WRITER_DIR/error" | tr '\n' ' ')
  : "${last_error:=no answer within $ANSWER_SECONDS s}"
  return 1
}
now() { now=$((${EPOCHREALTIME/./} / 1000)); } # sets it: no process
rest() { read -r -t "$WRITER_PAUSE" <&"$never"; }

until ask 'CREATE TABLE IF NOT EXISTS writer.t (id BIGINT PRIMARY KEY, filler VARCHAR(200), attempts INT NOT NULL DEFAULT 1); SELECT 1'; do
  [[ ${told:-} == "$last_error" ]] || echo "not yet: ${told:=$last_error}" >&2
  [[ ! -e $WRITER_DIR/stop ]] || exit 1
  read -r -t 0.2 <&"$never"
done

acknowledged=0 errors=0 longest=0 phase=start phase_rows=0 phase_longest=0
end_phase() {
  echo "PHASE $phase $phase_rows $phase_longest"
  phase_rows=0 phase_longest=0
}
now
last=$now
while [[ ! -e $WRITER_DIR/stop ]]; do
  failed=0
  until ask "INSERT INTO writer.t (id, filler) VALUES ($((acknowledged + 1)), REPEAT('x', 100)) ON DUPLICATE KEY UPDATE attempts = attempts + 1; SELECT 1"; do
    failed=$((failed + 1))
    read -r -t 0.01 <&"$never"
  done
  now
  word=''
  [[ ! -e $WRITER_DIR/phase ]] || read -r word < "$WRITER_DIR/phase"
  if [[ -n $word && $word != "$phase" ]]; then
    end_phase
    phase=$word
  fi
  acknowledged=$((acknowledged + 1)) phase_rows=$((phase_rows + 1)) errors=$((errors + failed))
  echo "$acknowledged" > "$WRITER_DIR/rows"
  gap=$((now - last))
  if ((gap >= GAP_MS)); then
    echo "GAP $last $gap $failed $phase$( ((failed == 0)) || printf ' %s' "$last_error")"
  fi
  ((gap <= longest)) || longest=$gap
  ((gap <= phase_longest)) || phase_longest=$gap
  rest
  now
  last=$now
done
end_phase
until ask "SELECT COUNT(*) FROM writer.t WHERE id BETWEEN 1 AND $acknowledged"; do read -r -t 0.1 <&"$never"; done
echo "END $acknowledged $((acknowledged - answer)) $longest $errors"
hang_up
((acknowledged == answer))
