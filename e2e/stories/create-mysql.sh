# SPDX-License-Identifier: Apache-2.0
# shellcheck shell=bash disable=SC2016 # expanded later, by eval or in the pod
# A MySQL from one apply: an image of another distribution and C library than the agent was built on.
# core
. e2e/stories/create.inc
story_create mysql
