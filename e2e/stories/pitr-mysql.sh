# SPDX-License-Identifier: Apache-2.0
# MySQL: binary logs are archived under a writer and over a failover; new clusters to a time between two known writes, and to the end of the archive.
# long
# shellcheck shell=bash
. e2e/stories/pitr.inc
story_pitr mysql logical
