# SPDX-License-Identifier: Apache-2.0
# shellcheck shell=bash
# long
# alone
# seconds 1800
# Commands of the documentation: clients of both families and of five languages, with what an application is given (e2e/docs/clients-image.sh).
. e2e/stories/docs.inc
need_flavour mysql
[[ -n $KM_GO ]] || skip "the Go program of docs/connect.md is compiled on this machine, and there is no go"
rc=0
archive=$(e2e/docs/clients-image.sh) || rc=$?
((rc != 77)) || skip "a package of the image with clients cannot be had"
((rc == 0)) || fail "no image with clients"
e2e/cluster/load-image.sh "$archive"
PATH=$PATH:$(dirname "$KM_GO")
export PATH
story_docs docs-connect
