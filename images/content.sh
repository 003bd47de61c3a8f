#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# content.sh NAME FOLDER   everything that the image NAME (kube-mysql-operator, kube-mysql-agent) has, in FOLDER: the static program of $BUILD/static, the public
# certificate authorities, time zones (the operator's for schedules, the agent's for the tables of servers), and in /licenses the notices and the SBOM. For build.sh, the Dockerfiles and releases.
set -euo pipefail
name=${1:?usage: content.sh NAME FOLDER} folder=$(readlink -f -m "${2:?usage: content.sh NAME FOLDER}")
cd "$(dirname "$0")/.."
: "${BUILD:=build}"
binary=$BUILD/static/$name
[[ -x $binary && -f $binary.map ]] || { echo "images: $binary or its .map is missing (make static)" >&2; exit 1; }

install -D -m 0755 "$binary" "$folder/$name"
images/ca-certificates.sh "$folder/etc/ssl/certs/ca-certificates.crt"
[[ $name != kube-mysql-operator ]] || images/zoneinfo.sh "$folder/usr/share/zoneinfo"
[[ $name != kube-mysql-agent ]] || images/zoneinfo.sh --archive "$folder/zoneinfo.tar"
images/notices.sh "$name" "$binary.map" "$folder/licenses"
images/sbom.sh "$name" "$binary" "$binary.map" "$folder/licenses/$name.spdx.json"
