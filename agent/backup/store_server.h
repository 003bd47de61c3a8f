/* SPDX-License-Identifier: Apache-2.0 */
/*
 * store_server.h: the store's answers over HTTP: routes for an http_server that streams bodies (store_request.h
 * says what is known, store_answer.h what is answered, store_folder.h where it lies).
 *
 * All file work is done by STORE_LANES threads; the loop only moves bytes between connections and buffers. A body
 * that arrives takes two buffers of STORE_PIECE_BYTES, one that is sent takes one; at most STORE_REQUESTS_MAX
 * requests are under way, further ones are told Busy. So memory does not depend on the size of anything.
 *
 * An upload is committed when no piece of it is on its way any more: those that are (a connection that hangs, whose
 * piece was sent again) are ended, and the commit is told Busy, as they write into the file that becomes the
 * object. Committing once more what was committed just now is answered the same (the first answer may have been
 * lost).
 *
 * A request that fails leaves nothing behind but bytes of an upload, and that is so before it is answered.
 */
#ifndef KM_AGENT_BACKUP_STORE_SERVER_H
#define KM_AGENT_BACKUP_STORE_SERVER_H

#include "common/base.h"

#include "agent/backup/store_folder.h"
#include "common/http_server.h"
#include "common/loop.h"

#define STORE_REQUESTS_MAX 32
#define STORE_BODY_MAX ((size_t)(5120 * KM_MIB)) /* of an object or a piece */

struct store_server;

/* peers: common names that may come, NULL-terminated; NULL: everybody, for tests. Sweeps the folder now and every hour.
 * folder must stay. Of one that is read-only only GET and lists are served. */
struct store_server *store_server_new(struct loop *loop, const struct store_folder *folder, const char *const *peers);
/* After the http_server whose exchanges it holds. What is under way is ended. NULL is fine. */
void store_server_free(struct store_server *server);
/* Takes no new request: they are told Busy. */
void store_server_close(struct store_server *server);
/* arg of the http_server: the store_server. */
extern const struct http_route store_server_routes[];
size_t store_server_requests(const struct store_server *server); /* under way */
/* True if no request is being served and all responses have been handed to the kernel: a finished commit or GET may
 * still have bytes of its response in a buffer. http: the server whose arg this is. */
bool store_server_is_idle(const struct store_server *server, const struct http_server *http);

#endif
