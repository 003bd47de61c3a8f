# SPDX-License-Identifier: Apache-2.0
# alone: nodes are stopped under whatever runs on them. The primary's node stops, stands still, is cut off; the old primary comes back by itself.
# long
# shellcheck shell=bash
. e2e/stories/nodes.inc
real_faults none,node-crashed,node-frozen,node-cut
