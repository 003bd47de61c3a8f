# SPDX-License-Identifier: Apache-2.0
# MySQL: the primary's pod is deleted by force under a client that checks every acknowledged row.
# long
# shellcheck shell=bash
. e2e/stories/forced.inc
story_forced mysql
