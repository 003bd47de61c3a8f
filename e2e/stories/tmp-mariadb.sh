# SPDX-License-Identifier: Apache-2.0
# MariaDB: a statement fills /tmp; it is ended, and the pod stays.
# long
# seconds 240
# shellcheck shell=bash
. e2e/stories/tmp.inc
story_tmp mariadb
