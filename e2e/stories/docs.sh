# SPDX-License-Identifier: Apache-2.0
# shellcheck shell=bash
# long
# alone
# seconds 1800
# The commands of the documentation, as they stand in README.md and the pages behind it, do what stands below them (e2e/docs/run.py). They use namespaces, names and the
# operator as a reader would, so they run on the local cluster alone.
[[ $KUBECONFIG == "$KM_RUN/kubeconfig/admin" ]] || skip "these commands are for the local cluster alone; KUBECONFIG names another one"

clean() {
  k delete namespace shops --ignore-not-found --wait=false > /dev/null
  k delete myconf mariadb-11.4 --ignore-not-found > /dev/null
  wait_until 180 "namespace shops is gone" eval '[[ -z $(k get namespace shops --ignore-not-found -o name) ]]'
}
clean
trap clean EXIT
k annotate namespace "$OPERATOR_NS" kubemysql.dev/e2e-mark- > /dev/null # the pages install the operator again: so does the next story
mapfile -t pages < <(grep -v '^#' e2e/docs/pages)
e2e/docs/run.py "${pages[@]}"
