# SPDX-License-Identifier: Apache-2.0
# MariaDB: three members replicate, seed themselves, grow, shrink, hibernate, under a writing client.
# shellcheck shell=bash
# core
. e2e/stories/replication.inc
story_replication mariadb
