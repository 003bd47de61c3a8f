# SPDX-License-Identifier: Apache-2.0
# MariaDB: backups into a bucket and onto a volume under a writer, and new clusters made of them.
# shellcheck shell=bash
. e2e/stories/backup.inc
story_backup mariadb physical
