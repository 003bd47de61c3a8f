# SPDX-License-Identifier: Apache-2.0
# shellcheck shell=bash
# TLS is required of all clients of a running cluster, and offered again; what the operator has connected goes on, MariaDB.
# long
# seconds 900
. e2e/stories/tls-required.inc
story_tls mariadb
