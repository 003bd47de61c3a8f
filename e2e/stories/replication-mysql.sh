# SPDX-License-Identifier: Apache-2.0
# MySQL: three members replicate, seed themselves by CLONE, grow, shrink, hibernate, under a writing client.
# long
# shellcheck shell=bash
. e2e/stories/replication.inc
story_replication mysql
