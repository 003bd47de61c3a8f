/* SPDX-License-Identifier: Apache-2.0 */
/*
 * store_xml.h: the store's answers in S3's XML, and the one document that it reads. Pure.
 * https://docs.aws.amazon.com/AmazonS3/latest/API/API_ListObjectsV2.html and its neighbours
 */
#ifndef KM_AGENT_BACKUP_STORE_XML_H
#define KM_AGENT_BACKUP_STORE_XML_H

#include "common/base.h"

#include "agent/backup/store_fault.h"
#include "agent/backup/store_list.h"
#include "agent/backup/store_request.h"
#include "agent/backup/store_upload.h"
#include "common/strbuf.h"

/* A list of 10,000 parts with checksums that we do not want has less. */
#define STORE_XML_READ_MAX ((size_t)(2 * KM_MIB))
/* A page of names is cut here, whatever max-keys was; 1,000 names of 100 bytes need 300 KiB. */
#define STORE_XML_PAGE_MAX ((size_t)(512 * KM_KIB))

#define STORE_DATE_SIZE sizeof("2026-11-21T20:45:12.000Z")
void store_xml_date(int64_t ms, char out[static STORE_DATE_SIZE]);

void store_xml_error(struct strbuf *out, const struct store_fault *fault, const char *path);
void store_xml_begun(struct strbuf *out, const char *name, const char *id);
void store_xml_completed(struct strbuf *out, const char *name, const char *etag);
void store_xml_uploads(struct strbuf *out, const char *prefix, const struct store_upload_entry *entries, size_t count);

/* A page of names while it is made. */
struct store_xml_page {
    struct strbuf entries; /* objects and common prefixes, in the order of their names */
    unsigned count;
    char last[STORE_NAME_SIZE];
};
void store_xml_page_init(struct store_xml_page *page);
/* For store_list: arg is the page. */
bool store_xml_page_add(void *arg, const struct store_entry *entry);
void store_xml_page_end(
    struct store_xml_page *page, const struct store_list_query *query, bool truncated, struct strbuf *out);
void store_xml_page_release(struct store_xml_page *page);

/* CompleteMultipartUpload. The caller frees *ret, which has at least one part, in rising order. ETags that cannot be ours are "". */
int store_xml_read_parts(
    const char *text, size_t len, struct store_part **ret, size_t *ret_count, struct store_fault *fault) KM_MUST_CHECK;

#endif
