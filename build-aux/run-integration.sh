#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# run-integration.sh EXECUTABLE…   run the integration tests, with a light control plane for those that talk to an API server, and an S3 server for those of object storage.
#
# Tests find them by KM_TEST_KUBECONFIG and KM_TEST_S3 (the file that e2e/s3/up.sh writes) and skip themselves when that is not set. They start database servers by
# themselves. Both are instances of their own (INSTANCE=itest); a control plane that was there before is used and left running, as is the server of a KM_TEST_S3 that was set.
set -uo pipefail
cd "$(dirname "$0")/.." || exit 1
export INSTANCE=${INSTANCE:-itest}
control_plane=e2e/cluster/control-plane.sh
ours=
our_s3=

cleanup() {
  [[ -z $ours ]] || $control_plane down > /dev/null 2>&1
  [[ -z $our_s3 ]] || e2e/s3/down.sh --purge
}
trap cleanup EXIT
trap 'exit 130' INT TERM

unset KM_TEST_KUBECONFIG
if [[ -x $control_plane && " $* " == *"/operator/"* ]]; then
  $control_plane status > /dev/null 2>&1 || ours=1
  if KM_TEST_KUBECONFIG=$($control_plane up); then
    export KM_TEST_KUBECONFIG
  else
    echo "integration: the light control plane does not start; its tests will be skipped" >&2
  fi
fi
if [[ -z ${KM_TEST_S3:-} && " $* " == *object_store_itest* ]]; then
  export S3_PORT=${S3_PORT:-19300}
  if KM_TEST_S3=$(e2e/s3/up.sh); then
    our_s3=1
    export KM_TEST_S3
  else
    unset KM_TEST_S3
    e2e/s3/down.sh --purge
    echo "integration: the S3 server does not start; its tests will be skipped" >&2
  fi
fi
TEST_TIMEOUT=${TEST_TIMEOUT:-600} TEST_JOBS=${TEST_JOBS:-3} build-aux/run-tests.sh integration "$@"
