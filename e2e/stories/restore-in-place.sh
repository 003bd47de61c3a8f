# SPDX-License-Identifier: Apache-2.0
# MariaDB: restore in place of a cluster of two, to its backup and to a moment after it, from the volume that its archive is on.
# alone
# long
# seconds 700
# shellcheck shell=bash
. e2e/stories/restore-in-place.inc
story_restore_in_place mariadb physical 'persistentVolumeClaim: {claimName: backups, size: 2Gi}'
