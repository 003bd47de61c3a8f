# SPDX-License-Identifier: Apache-2.0
# MySQL, its files: backups into a bucket and onto a volume under a writer, and new clusters made of them.
# shellcheck shell=bash
. e2e/stories/backup.inc
story_backup mysql physical
