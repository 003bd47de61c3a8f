#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# down.sh [--purge]: stop the local S3 server. Objects, keys and certificates stay unless --purge.
set -euo pipefail
. "$(dirname "${BASH_SOURCE[0]}")/env.sh"

[[ -d $RUN ]] || exit 0
lock "$RUN.lock"
for name in proxy-tls proxy object container account; do
	daemon_stop "$name"
done
if [[ ${1:-} == --purge ]]; then
	rm -rf "${RUN:?}" "$RUN.lock"
fi
