# SPDX-License-Identifier: Apache-2.0
# MariaDB 10.5, 10.11, 11.8: one cluster goes from one to the next under a writer.
# shellcheck shell=bash
# long
# seconds 1500
. e2e/stories/upgrade.inc
story_upgrade mariadb-10.5 mariadb-10.11 mariadb-11.8
