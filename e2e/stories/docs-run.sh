# SPDX-License-Identifier: Apache-2.0
# shellcheck shell=bash
# long
# alone
# seconds 1800
# Commands of the documentation: what a cluster says, how its primary is moved, and upgrades of operator and server.
. e2e/stories/docs.inc
e2e/cluster/load-image.sh "$(e2e/cluster/server-image.sh mariadb-11.8)"
story_docs docs-run
