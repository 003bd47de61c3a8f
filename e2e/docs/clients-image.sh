#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# clients-image.sh: the image in which the commands of docs/connect.md are run; prints the path of its archive.
#   registry.local/clients:1    Debian 12 with Python, PHP, Java and Node, and their drivers of the family
#
# Debian's packages are PyMySQL, SQLAlchemy and PHP's PDO; of npm is mysql2, of Maven Central the two Connectors/J. Drivers lie in
# /opt/node_modules and /opt/java. Built when it is missing or this script has changed. Ends with 77 where a package cannot be had.
set -euo pipefail
cd "$(dirname "$0")/../.."
. e2e/cluster/env.sh

PACKAGES=bash,python3-minimal,python3-pymysql,python3-sqlalchemy,php-cli,php-mysql,openjdk-17-jdk-headless,nodejs,ca-certificates
MYSQL2=mysql2@3.11.0
CONNECTORS=(com.mysql:mysql-connector-j:9.4.0 org.mariadb.jdbc:mariadb-java-client:3.5.1)

archive=$KM_CACHE/docs/clients.oci.tar
recipe=$(sha256sum e2e/docs/clients-image.sh e2e/cluster/mkimage.sh | cut -d' ' -f1 | sha256sum | cut -c1-16)
mkdir -p "$KM_CACHE/docs"
if [[ ! -s $archive || $(cat "$KM_CACHE/docs/clients.recipe" 2> /dev/null) != "$recipe" ]]; then
  lock "$KM_CACHE/clients-image.lock"
  work=$(mktemp -d "$KM_CACHE/docs/work.XXXXXX")
  trap 'rm -rf "$work"' EXIT
  {
    mkdir -p "$work/opt/java"
    npm install --prefix "$work/opt" --no-audit --no-fund "$MYSQL2" || exit 77
    rm -f "$work"/opt/package*.json
    for artifact in "${CONNECTORS[@]}"; do
      mvn -q dependency:copy -Dartifact="$artifact" -DoutputDirectory="$work/opt/java" || exit 77
    done
    mmdebstrap --quiet --variant=essential --mode=root --include="$PACKAGES" \
      --dpkgopt='path-exclude=/usr/share/doc/*' --dpkgopt='path-exclude=/usr/share/locale/*' \
      --customize-hook="copy-in $work/opt/node_modules $work/opt/java /opt" \
      --customize-hook='rm -rf "$1"/var/cache/apt/* "$1"/var/lib/apt/lists/*' bookworm "$work/rootfs.tar" || exit 77
    "$KM_CLUSTER_DIR/mkimage.sh" "$work/rootfs.tar" registry.local/clients:1 "$archive" \
      '{"Entrypoint":["sleep","infinity"],"User":"999:999","Env":["PATH=/usr/bin:/bin","HOME=/tmp","NODE_PATH=/opt/node_modules","CLASSPATH=/opt/java/*"]}'
  } >&2
  echo "$recipe" > "$KM_CACHE/docs/clients.recipe"
fi
echo "$archive"
