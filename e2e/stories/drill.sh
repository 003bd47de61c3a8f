# SPDX-License-Identifier: Apache-2.0
# Restore drills of MariaDB: drill.inc.
# alone
# long
# shellcheck shell=bash
. e2e/stories/drill.inc
story_drill mariadb
