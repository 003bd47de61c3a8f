# SPDX-License-Identifier: Apache-2.0
# alone: nodes are stopped under whatever runs on them. The leading operator goes with the primary's node; kubelet and containerd alone are no reason for anything.
# long
# shellcheck shell=bash
. e2e/stories/nodes.inc
real_faults node-crashed-with-leader,daemons-killed
