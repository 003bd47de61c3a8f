# SPDX-License-Identifier: Apache-2.0
# shellcheck shell=bash
# long
# alone
# seconds 1800
# Commands of the documentation: backups and restores, onto a volume and into a bucket of the bed's S3 server.
. e2e/stories/docs.inc
. e2e/stories/backup.inc
s3_server
export S3_TLS_ENDPOINT S3_REGION S3_BUCKET S3_ACCESS_KEY S3_SECRET_KEY S3_CA
story_docs docs-backup
