# SPDX-License-Identifier: Apache-2.0
# MariaDB: planned switchovers, an eviction and a roll under a client that checks every acknowledged row.
# long
# shellcheck shell=bash
. e2e/stories/switchover.inc
story_switchover mariadb
