# SPDX-License-Identifier: Apache-2.0
# The last backup of a MariaDB cluster: final-backup.inc.
# shellcheck shell=bash
. e2e/stories/final-backup.inc
story_final_backup mariadb
