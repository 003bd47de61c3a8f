# SPDX-License-Identifier: Apache-2.0
# Restore drills of MySQL, of its files: drill.inc.
# alone
# long
# seconds 900
# shellcheck shell=bash
. e2e/stories/drill.inc
story_drill mysql
