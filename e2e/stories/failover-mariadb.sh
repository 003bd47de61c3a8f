# SPDX-License-Identifier: Apache-2.0
# MariaDB: the primary is killed, frozen and deleted under a client that checks every acknowledged row.
# shellcheck shell=bash
# core
. e2e/stories/failover.inc
story_failover mariadb
