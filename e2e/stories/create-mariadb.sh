# SPDX-License-Identifier: Apache-2.0
# shellcheck shell=bash disable=SC2016 # expanded later, by eval or in the pod
# A MariaDB from one apply.
# core
. e2e/stories/create.inc
story_create mariadb
