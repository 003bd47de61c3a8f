# SPDX-License-Identifier: Apache-2.0
# alone: nodes are stopped under whatever runs on them. The primary's pod is deleted, with and without grace; its server dies while a fourth member is copied.
# long
# shellcheck shell=bash
. e2e/stories/nodes.inc
real_faults pod-deleted,pod-deleted-now,during-scale-out
