# SPDX-License-Identifier: Apache-2.0
# MySQL: backups into a bucket and onto a volume under a writer, and new clusters made of them.
# shellcheck shell=bash
# core
. e2e/stories/backup.inc
story_backup mysql logical
