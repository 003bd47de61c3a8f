# SPDX-License-Identifier: Apache-2.0
# alone: nodes are stopped under whatever runs on them. The same of MySQL.
# long
# shellcheck shell=bash
. e2e/stories/nodes.inc
real_faults none,mysqld-killed,node-crashed,node-cut mysql
