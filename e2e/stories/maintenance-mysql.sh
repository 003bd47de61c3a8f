# SPDX-License-Identifier: Apache-2.0
# shellcheck shell=bash
# A pause keeps its word, and the server of one member is stopped while its pod is kept.
# long
. e2e/stories/maintenance.inc
story_maintenance mysql
