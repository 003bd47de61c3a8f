# SPDX-License-Identifier: Apache-2.0
# MariaDB 10.11, 11.4, 11.8: one cluster goes from one to the next under a writer. The image of 11.4 has no
# mariadb-upgrade: its members say so, and 11.8 does it.
# shellcheck shell=bash
# long
# seconds 1500
. e2e/stories/upgrade.inc
story_upgrade mariadb-10.11 mariadb-11.4 mariadb-11.8
