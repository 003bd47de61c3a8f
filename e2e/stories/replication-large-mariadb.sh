# SPDX-License-Identifier: Apache-2.0
# MariaDB: three gigabytes are copied to two new members while a client writes.
# long
# seconds 900
# shellcheck shell=bash
. e2e/stories/replication-large.inc
story_large mariadb
