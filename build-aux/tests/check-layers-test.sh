#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# A gate that cannot fail guards nothing: good and bad samples for check-layers.sh.
set -euo pipefail
check=$(cd "$(dirname "$0")/.." && pwd)/check-layers.sh
table=$(cd "$(dirname "$0")/../.." && pwd)/ARCHITECTURE.md
tree=$(mktemp -d)
trap 'rm -rf "$tree"' EXIT
cases=0

# expect good|bad PATH INCLUDE-LINE [TEXT]: one file in an otherwise empty tree; a bad one is named, with TEXT in the message.
expect() {
  local want=$1 path=$2 line=$3 text=${4:-} got=good out
  rm -rf "${tree:?}"/*
  cp "$table" "$tree/"
  mkdir -p "$tree/$(dirname "$path")"
  printf '%s\n' "$line" > "$tree/$path"
  out=$("$check" "$tree") || got=bad
  if [[ $got != "$want" || ($want == bad && ($out != *"$path"* || $out != *"$text"*)) ]]; then
    printf 'check-layers-test: %s with %s: expected %s, got %s:\n%s\n' "$path" "$line" "$want" "$got" "$out" >&2
    exit 1
  fi
  cases=$((cases + 1))
}

expect good common/a.c '#include "common/b.h"'
expect bad common/a.c '#include "operator/kube/kube_client.h"' 'must not include'
expect good operator/kube/a.c '#include "common/b.h"'
expect bad operator/kube/a.c '#include "operator/cluster/cluster.h"' 'must not include'
expect bad operator/kube/a.c '#include "operator/api/names.h"' 'must not include'
expect bad operator/runtime/a.c '#include "operator/api/names.h"' 'must not include'
expect good operator/runtime/a.c '#include "operator/kube/kube_client.h"'
expect bad operator/cluster/a.c '#include "operator/terminal/terminal.h"' 'must not include'
expect good operator/cluster/a.c '#include "operator/plan/plan.h"'
expect bad operator/main.c '#include "agent/agent.h"' 'must not include'
expect bad agent/main.c '#include "operator/api/names.h"' 'must not include'
expect good agent/agent.c '#include "agent/mysql/session.h"'
expect bad agent/mysql/session.c '#include "agent/bootstrap/bootstrap.h"' 'must not include'
expect bad common/a.c '#include "b.h"' 'start at the top'
expect bad kubectl/x/a.c '#include "common/b.h"' 'has no row'
expect good common/http_client.c '#include <curl/curl.h>'
expect bad common/http_server.c '  #  include <curl/curl.h>' 'only in'
expect good common/http_server.c '#include <event2/http.h>'
expect bad operator/kube/a.c '#include <event2/event.h>' 'only in'
expect good agent/mysql/session.c '#include <mysql.h>'
expect bad agent/agent.c '#include <mysql.h>' 'only in'
expect bad operator/tests/a_test.c '#include <mysql.h>' 'only in'
expect bad agent/agent.c '#include <pthread.h>' 'only in'
expect good common/worker.c '#include <pthread.h>'
expect good operator/kube/tests/a_test.c '#include "operator/tests/api_double.h"'
expect good operator/tests/api_double.c '#include <event2/http.h>'
expect bad operator/kube/tests/a_test.c '#include "operator/cluster/cluster.h"' 'must not include'
expect bad operator/kube/tests/a_test.c '#include "agent/tests/x_double.h"' 'must not include'
echo "layers: $cases samples judged rightly"
