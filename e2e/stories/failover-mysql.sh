# SPDX-License-Identifier: Apache-2.0
# MySQL: the primary is killed, frozen and deleted under a client that checks every acknowledged row.
# long
# shellcheck shell=bash
. e2e/stories/failover.inc
story_failover mysql
