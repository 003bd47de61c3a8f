# SPDX-License-Identifier: Apache-2.0
# MySQL, one member: rows fill the volumes; writes end, the servers do not; a larger volume opens it.
# long
# seconds 900
# shellcheck shell=bash
. e2e/stories/volume-filled.inc
story_filled mysql 1
