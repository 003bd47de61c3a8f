#!/bin/bash
# run-integration.sh EXECUTABLE…   run the integration tests, with a light control plane for those that talk to an API server.
#
# Tests find it by KM_TEST_KUBECONFIG and skip themselves when that is not set. They start database servers by themselves.
# The control plane is an instance of its own (INSTANCE=itest); one that was there before is used and left running.
set -uo pipefail
cd "$(dirname "$0")/.." || exit 1
export INSTANCE=${INSTANCE:-itest}
control_plane=e2e/cluster/control-plane.sh
ours=

cleanup() {
  [[ -z $ours ]] || $control_plane down > /dev/null 2>&1
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
TEST_TIMEOUT=${TEST_TIMEOUT:-600} TEST_JOBS=1 build-aux/run-tests.sh integration "$@"
