# SPDX-License-Identifier: Apache-2.0
# MariaDB: the primary's pod is deleted by force under a client that checks every acknowledged row.
# shellcheck shell=bash
# core
. e2e/stories/forced.inc
story_forced mariadb
