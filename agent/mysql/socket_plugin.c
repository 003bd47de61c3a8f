/* SPDX-License-Identifier: Apache-2.0 */
#include "common/base.h"

#include "agent/mysql/socket_plugin.h"

#ifdef MARIADB_PACKAGE_VERSION

#include <mysql/plugin_auth.h>

/* <mysql/client_plugin.h> of Connector/C 3.3 includes a header that is not installed, so its ABI is spelled out here
 * (MYSQL_CLIENT_PLUGIN_HEADER and the authentication entry; unchanged since 10.2). */
struct client_auth_plugin {
    int type;
    unsigned interface_version;
    const char *name;
    const char *author;
    const char *description;
    unsigned version[3];
    const char *license;
    void *mysql_api;
    int (*init)(char *, size_t, int, va_list);
    int (*deinit)(void);
    int (*options)(const char *option, const void *);
    int (*authenticate_user)(MYSQL_PLUGIN_VIO *vio, struct st_mysql *mysql);
};

#define PLUGIN_NAME "kubemysql_socket"
#define CLIENT_AUTHENTICATION_PLUGIN 2
#define CLIENT_AUTHENTICATION_INTERFACE 0x0100

static int authenticate(MYSQL_PLUGIN_VIO *vio, struct st_mysql *mysql)
{
    static const unsigned char nothing[1];

    UNUSED(mysql);
    return vio->write_packet(vio, nothing, 0) ? CR_ERROR : CR_OK;
}

static const struct client_auth_plugin plugin = {
    .type = CLIENT_AUTHENTICATION_PLUGIN,
    .interface_version = CLIENT_AUTHENTICATION_INTERFACE,
    .name = PLUGIN_NAME,
    .author = "kube-mysql",
    .description = "identity by the socket",
    .version = {1, 0, 0},
    .license = "LGPL",
    .authenticate_user = authenticate,
};

void socket_plugin_register(void)
{
    /* Registering wants a handle only to leave an error text in. The library does not write to the plugin. */
    MYSQL *mysql = mysql_init(NULL);

    if (!mysql || !mysql_client_register_plugin(mysql, (struct st_mysql_client_plugin *)(uintptr_t)&plugin))
        abort();
    mysql_close(mysql);
}

void socket_plugin_select(MYSQL *mysql)
{
    mysql_options(mysql, MYSQL_DEFAULT_AUTH, PLUGIN_NAME);
}

int socket_plugin_fd(MYSQL *mysql)
{
    return (int)mysql_get_socket(mysql);
}

#else

/* Oracle's client has its plugins inside and takes the server's answer without a challenge. */
void socket_plugin_register(void)
{
}

void socket_plugin_select(MYSQL *mysql)
{
    UNUSED(mysql);
}

int socket_plugin_fd(MYSQL *mysql)
{
    return (int)mysql->net.fd;
}

#endif
