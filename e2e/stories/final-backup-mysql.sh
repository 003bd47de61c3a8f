# SPDX-License-Identifier: Apache-2.0
# The last backup of a MySQL cluster, of its files: final-backup.inc.
# long
# seconds 700
# shellcheck shell=bash
. e2e/stories/final-backup.inc
story_final_backup mysql
