# SPDX-License-Identifier: Apache-2.0
# shellcheck shell=bash disable=SC2016 # expanded later, by eval or in the pod
# long
# seconds 1200
# Images that are laid out otherwise than Debian's (cluster/server-tree.sh has them): an archive below /opt with another
# user, a server in /usr/libexec, option files that no server takes, programs that are missing. Each makes a database,
# and a second member seeds itself from the first.
. e2e/replication-lib.sh
. e2e/versions-lib.sh

instance_says() { field_matches myc "$1" '.status.instances[0].message' "$2"; }
in_pod() { kn exec "$1" -c mysql -- "${@:2}"; }

# The default user is 999. One that the image does not know is told with the number that it wants, before a server has
# started or anything lies on the volume.
user_is_found() { # NAME UID
  say "$1: the image's user is $2, which is found and named"
  wait_until 120 "the number of the image's user" instance_says "$1" "set podSecurity.runAsUser to $2"
  expect_eq "whether a server was started" \
    "$(field pod "$1-mysql-0" '.status.containerStatuses[?(@.name=="mysql")].state.waiting.reason')" PodInitializing
  kn patch myc "$1" --type=merge \
    -p "{\"spec\":{\"config\":{\"spec\":{\"podSecurity\":{\"runAsUser\":$2}}}}}" > /dev/null
}

layout() { # SERVER UID
  local name=${1#layout-} at
  server_image "$1"
  version_cluster "$name" "$image" 1
  (($2 == 999)) || user_is_found "$name" "$2"
  wait_ready "$name" 1 180
  expect_eq "the server's user" "$(in_pod "$name-mysql-0" id -u)" "$2"
  expect_eq "the owner of the data" "$(in_pod "$name-mysql-0" stat -c %u /var/lib/mysql/data/ibdata1)" "$2"
  sql "$name-mysql-0" 'CREATE TABLE writer.t (id INT PRIMARY KEY); INSERT INTO writer.t VALUES (1), (2), (3)'
  say "$name: $(server_versions "$name") is ready; a second member"
  scale "$name" 2
  wait_replicated "$name" 2 300
  row_everywhere "$name" 'SELECT COUNT(*) FROM writer.t' 3 || fail "the rows are not on both members"
  sql "$(primary "$name")" 'INSERT INTO writer.t VALUES (4)'
  wait_until 60 "a row that is written afterwards" row_everywhere "$name" 'SELECT COUNT(*) FROM writer.t' 4
  at=$(kn logs "$name-mysql-1" -c init | grep -oE 'copy would come as statements' | head -n 1) || true
  say "$name: both members have it${at:+ (copied by statements)}"
  kn delete myc "$name" --wait=false > /dev/null
}

layout layout-opt 1001
layout layout-libexec 999
layout layout-mysql 1001
