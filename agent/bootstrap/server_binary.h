/* SPDX-License-Identifier: Apache-2.0 */
/*
 * server_binary.h: the database image's own server program: where it is, what it calls itself.
 */
#ifndef KM_AGENT_BOOTSTRAP_SERVER_BINARY_H
#define KM_AGENT_BOOTSTRAP_SERVER_BINARY_H

#include "common/base.h"

#include "agent/mysql/dialect.h"
#include "common/error.h"

struct server_binary {
    char *path;
    struct server_version version;
};

/* What is said of an image without a server. Statuses and conditions keep the beginning of a long message, so what a
 * person must know stands before the places that were searched. */
extern const char server_binary_missing[];

/* mariadbd before mysqld (images of MariaDB have both names), in PATH and the usual folders, then asked for its
 * version. ERROR_NOT_FOUND when the image holds no server. */
int server_binary_find(struct server_binary *ret, struct error *err) KM_MUST_CHECK;
void server_binary_release(struct server_binary *binary);

/* The first executable of that name in PATH and the usual folders, or NULL; the caller frees. */
char *server_binary_search(const char *name);

#define SERVER_USER_SIZE 33

/* Whom this image means the server to run as: its user "mysql" or "mariadb". False: there is neither. */
bool server_binary_database_user(char ret_name[static SERVER_USER_SIZE], unsigned *ret_uid);

/* The name of the operating system's user with this uid by /etc/passwd of this image, or NULL; the caller frees. The
 * server looks the peer of a socket up in the same file. */
char *server_binary_user_name(unsigned uid);

#endif
