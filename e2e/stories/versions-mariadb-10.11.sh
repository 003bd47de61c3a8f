# SPDX-License-Identifier: Apache-2.0
# MariaDB 10.11: everything that a server must do, by nothing but the Kubernetes API, and a row of the table "versions".
# shellcheck shell=bash
# long
# seconds 1200
. e2e/stories/versions.inc
story_server mariadb-10.11
