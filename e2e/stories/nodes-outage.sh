# SPDX-License-Identifier: Apache-2.0
# alone: nodes are stopped under whatever runs on them. All members at once: processes, pods, nodes.
# long
# shellcheck shell=bash
. e2e/stories/nodes.inc
real_faults all-killed,all-deleted-now,all-nodes-crashed
