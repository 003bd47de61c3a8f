/* SPDX-License-Identifier: Apache-2.0 */
/*
 * store_server.h: the store's answers over HTTP: routes for an http_server that streams bodies (store_request.h says what is known, store_folder.h where it lies).
 *
 * All file work is done by STORE_LANES threads; the loop only moves bytes between connections and buffers. A body that arrives takes two buffers of
 * STORE_PIECE_BYTES, one that is sent takes one; at most STORE_REQUESTS_MAX requests are under way, further ones are told SlowDown. So memory does not depend on
 * the size of anything.
 *
 * An upload is completed when no part of it is on its way any more: those that are when it is to be completed (a connection that hangs, whose part was sent again) are
 * ended first, as they write into the file that becomes the object. Completing once more what was completed just now is answered the same (the first answer may have been lost).
 *
 * A request that fails leaves nothing behind, and that is so before it is answered.
 */
#ifndef KM_AGENT_BACKUP_STORE_SERVER_H
#define KM_AGENT_BACKUP_STORE_SERVER_H

#include "common/base.h"

#include "agent/backup/store_folder.h"
#include "common/http_server.h"
#include "common/loop.h"

#define STORE_LANES 4
#define STORE_REQUESTS_MAX 32
#define STORE_COMPLETIONS_MAX 4
#define STORE_PIECE_BYTES ((size_t)(128 * KM_KIB))
#define STORE_BODY_MAX ((size_t)(5120 * KM_MIB)) /* S3's own limit of an object or part that is put */

struct store_server;

/* peers: common names that may come, NULL-terminated; NULL: everybody, for tests. Sweeps the folder now and every hour. folder must stay. */
struct store_server *store_server_new(struct loop *loop, const struct store_folder *folder, const char *const *peers);
/* After the http_server whose exchanges it holds. What is under way is ended. NULL is fine. */
void store_server_free(struct store_server *server);
/* arg of the http_server: the store_server. */
extern const struct http_route store_server_routes[];
size_t store_server_requests(const struct store_server *server);

#endif
