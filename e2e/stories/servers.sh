# SPDX-License-Identifier: Apache-2.0
# shellcheck shell=bash disable=SC2154 # set by versions-lib.sh
# seconds 600
# MariaDB of today, without the long stories versions-* and upgrade-*: 11.8 from one member to three, its primary
# killed; and a cluster goes from 10.11 to 11.8; under writers.
. e2e/stories/upgrade.inc
row_at_the_end mariadb-11.8
server_image mariadb-11.8
version_create "$image"
version_grow
version_kill
version_end
(version_row) || true
kn delete myc db --wait=false > /dev/null
kn delete pod writer > /dev/null
kn delete configmap writer > /dev/null
wait_until 120 "the end of the cluster" eval '[[ -z $(kn get pod,sts -o name) ]]'
kn delete pvc --all > /dev/null
upgrade_begin mariadb-10.11
upgrade_step mariadb-11.8
version_end
