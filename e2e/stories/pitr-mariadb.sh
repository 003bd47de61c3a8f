# SPDX-License-Identifier: Apache-2.0
# MariaDB: binary logs are archived under a writer and over a failover; new clusters to a time between two known writes, and to the end of the archive.
# shellcheck shell=bash
# core
. e2e/stories/pitr.inc
story_pitr mariadb physical
