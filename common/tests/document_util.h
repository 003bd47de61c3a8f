/* SPDX-License-Identifier: Apache-2.0 */
/*
 * document_util.h: documents with one member that is not as it should be.
 */
#ifndef KM_DOCUMENT_UTIL_H
#define KM_DOCUMENT_UTIL_H

#include "common/base.h"

#include <jansson.h>

#include "common/strbuf.h"

/* text, canonical, with another value of that member, which is taken over; NULL removes the member. */
void document_with(const struct strbuf *text, const char *key, json_t *value, struct strbuf *out);
json_t *document_long_text(size_t len);
/* A canonical GTID set of MySQL: `last` transactions of each of so many servers. */
void document_servers(int count, int last, struct strbuf *out);

#endif
