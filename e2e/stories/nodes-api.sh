# SPDX-License-Identifier: Apache-2.0
# alone: nodes are stopped under whatever runs on them. The primary dies while the API server is away.
# long
# shellcheck shell=bash
. e2e/stories/nodes.inc
real_faults api-away-mysqld-killed,api-away-node-crashed
