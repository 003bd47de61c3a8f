# SPDX-License-Identifier: Apache-2.0
# shellcheck shell=bash
# An application's pod connects with the Secret and the ConfigMap for applications, MariaDB: names, TLS verified, odd passwords, changes.
# long
# seconds 900
. e2e/stories/connect.inc
story_connect mariadb
