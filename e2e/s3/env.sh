#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# shellcheck disable=SC2034  # settings are used by the scripts that source this file
# Settings of the local S3 server. Source it:  . e2e/s3/env.sh
#
#   INSTANCE     name of a private one                      (none)
#   KM_S3_RUN    its folder, on a file system with xattrs   (/var/lib/kube-mysql-s3[-INSTANCE])
#   S3_ADDRESS   where it listens                           (127.0.0.1)
#   S3_PORT      http; +1 https, +2 to +4 internal          (19000)
#   S3_REGION S3_BUCKET                                     (us-east-1, backups)

KM_S3_DIR=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
RUN=${KM_S3_RUN:-/var/lib/kube-mysql-s3${INSTANCE:+-$INSTANCE}}
S3_ADDRESS=${S3_ADDRESS:-127.0.0.1}
S3_PORT=${S3_PORT:-19000}
S3_REGION=${S3_REGION:-us-east-1}
S3_BUCKET=${S3_BUCKET:-backups}
KM_S3_SWIFT=/usr/lib/python3/dist-packages/swift # Debian's; what else is called python3 may not see it
S3_SERVERS=(account container object proxy proxy-tls)

# shellcheck source=../cluster/lib/process.sh
. "$KM_S3_DIR/../cluster/lib/process.sh"
