/* SPDX-License-Identifier: Apache-2.0 */
/*
 * s3_xml.h: the few XML answers of S3. Pure. The text must be there whole: one that is cut off is ERROR_PROTOCOL, and
 * nothing of it is handed out.
 *
 * Read by expat. Attributes and namespaces' prefixes are skipped; a DOCTYPE is refused, so there are no entities but
 * the five of XML itself. Depth, names and texts are bounded. Keys of lists come percent-encoded, as is asked for
 * (encoding-type=url): XML 1.0 does not have most control characters, and one such key would make the whole page
 * unreadable. Where EncodingType does not say so they are taken as they are.
 * https://docs.aws.amazon.com/AmazonS3/latest/API/API_ListObjectsV2.html
 */
#ifndef KM_COMMON_S3_XML_H
#define KM_COMMON_S3_XML_H

#include "common/base.h"

#include "common/error.h"
#include "common/object_answer.h"

#define S3_XML_DEPTH_MAX 16
#define S3_XML_TEXT_MAX ((size_t)(8 * KM_KIB)) /* of one element: keys have up to 1,024 bytes */

/* ---- any document ---- */

struct s3_xml_ops {
    /* path: names of the elements from the root, "ListBucketResult/Contents/Key". */
    void (*open)(void *arg, const char *path); /* may be NULL */
    /* text: between the last tag before and this end, decoded; NUL-terminated, has no NUL inside. */
    void (*close)(void *arg, const char *path, const char *text);
};
int s3_xml_walk(const char *text, size_t len, const struct s3_xml_ops *ops, void *arg, struct error *err) KM_MUST_CHECK;

/* ---- answers ---- */

/* An Error document: of a status of 300 and more, but also of a 200 to CompleteMultipartUpload. Texts are cut to fit,
 * control characters become spaces. */
/* ERROR_PROTOCOL if it is no Error document. */
int s3_xml_error(const char *text, size_t len, struct object_refusal *ret, struct error *err) KM_MUST_CHECK;

/* ListObjectsV2: `each` for all of the page, common prefixes too; both kinds in the document's order. -1 ends it,
 * without an error. ret_token: heap, where the next page begins; NULL: this is the last one. */
int s3_xml_objects(const char *text, size_t len, int (*each)(void *arg, const struct object_found *entry), void *arg,
    char **ret_token, struct error *err) KM_MUST_CHECK;

/* ListMultipartUploads. ret_key, ret_id: markers of the next page, heap; NULL: this is the last one. */
int s3_xml_uploads(const char *text, size_t len, int (*each)(void *arg, const char *key, const char *id), void *arg,
    char **ret_key, char **ret_id, struct error *err) KM_MUST_CHECK;

/* InitiateMultipartUpload: the upload's id, heap. */
int s3_xml_upload_id(const char *text, size_t len, char **ret_id, struct error *err) KM_MUST_CHECK;

/* CompleteMultipartUpload: 0 when it says so, 1 with *ret_refusal when it is an Error document, -1 when it is neither.
 * */
int s3_xml_completed(const char *text, size_t len, struct object_refusal *ret_refusal, struct error *err) KM_MUST_CHECK;

#endif
