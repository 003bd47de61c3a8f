# SPDX-License-Identifier: Apache-2.0
# shellcheck shell=bash
# long
# alone
# seconds 1800
# Commands of the documentation: accounts, settings, storage and maintenance.
. e2e/stories/docs.inc
story_docs docs-settings
