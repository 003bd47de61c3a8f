/* SPDX-License-Identifier: Apache-2.0 */
#include "common/base.h"

#include "agent/bootstrap/server_binary.h"

#include <glob.h>
#include <pwd.h>
#include <unistd.h>

#include "common/alloc.h"
#include "common/strbuf.h"
#include "common/strvec.h"
#include "common/subprocess.h"

#define VERSION_TIMEOUT_MS 30000
#define VERSION_OUTPUT_MAX (4 * KM_KIB)
#define USUAL_FOLDERS \
    "/usr/sbin:/usr/bin:/usr/libexec:/usr/local/mysql/bin:/usr/local/mysql/scripts:/usr/local/bin:/usr/local/sbin"
/* Where upstream's archives are unpacked; of several the first in the order of names. */
#define ARCHIVE_FOLDERS "/opt/*/bin:/opt/*/sbin:/opt/*/scripts:/usr/local/*/bin"

const char server_binary_missing[] =
    "this image holds neither mariadbd nor mysqld: is images.mysql a database image? Searched: PATH:" USUAL_FOLDERS
    ":" ARCHIVE_FOLDERS;

static void add_matching(struct strvec *folders, const char *patterns)
{
    _cleanup_(strvec_release) struct strvec each;
    glob_t found = {0};

    strvec_init(&each);
    strvec_split(&each, patterns, ":");
    for (size_t i = 0; i < each.n; i++)
        (void)(glob(each.v[i], i ? GLOB_APPEND : 0, NULL, &found) == 0);
    for (size_t i = 0; i < found.gl_pathc; i++)
        strvec_push(folders, found.gl_pathv[i]);
    globfree(&found);
}

char *server_binary_search(const char *name)
{
    _cleanup_(strvec_release) struct strvec folders;
    const char *path = getenv("PATH");

    strvec_init(&folders);
    strvec_split(&folders, str_or_empty(path), ":");
    strvec_split(&folders, USUAL_FOLDERS, ":");
    add_matching(&folders, ARCHIVE_FOLDERS);
    for (size_t i = 0; i < folders.n; i++) {
        char *candidate = xasprintf("%s/%s", folders.v[i], name);
        if (access(candidate, X_OK) == 0)
            return candidate;
        free(candidate);
    }
    return NULL;
}

static int ask_version(struct server_binary *binary, struct error *err)
{
    _cleanup_(strbuf_release) struct strbuf out;
    const char *argv[] = {binary->path, "--no-defaults", "--version", NULL};
    struct subprocess_options options = {.argv = argv, .timeout_ms = VERSION_TIMEOUT_MS};
    struct subprocess_result result;

    strbuf_init(&out, VERSION_OUTPUT_MAX);
    if (subprocess_run(&options, &out, NULL, &result, err) < 0)
        return -1;
    return server_version_parse_banner(out.buf, &binary->version, err);
}

int server_binary_find(struct server_binary *ret, struct error *err)
{
    static const char *const names[] = {"mariadbd", "mysqld"};

    for (size_t i = 0; i < ARRAY_LEN(names); i++) {
        struct server_binary binary = {.path = server_binary_search(names[i])};
        if (!binary.path)
            continue;
        if (ask_version(&binary, err) < 0) {
            server_binary_release(&binary);
            return error_prefix(err, "asking the server program for its version");
        }
        *ret = binary;
        return 0;
    }
    return error_set(err, ERROR_NOT_FOUND, "%s", server_binary_missing);
}

void server_binary_release(struct server_binary *binary)
{
    free(binary->path);
    *binary = (struct server_binary){0};
}

bool server_binary_database_user(char ret_name[static SERVER_USER_SIZE], unsigned *ret_uid)
{
    FILE *file = fopen("/etc/passwd", "re");
    bool found = false;

    if (!file)
        return false;
    for (struct passwd *entry; !found && (entry = fgetpwent(file));) {
        found = str_eq(entry->pw_name, "mysql") || str_eq(entry->pw_name, "mariadb");
        if (found) {
            snprintf(ret_name, SERVER_USER_SIZE, "%s", entry->pw_name);
            *ret_uid = entry->pw_uid;
        }
    }
    fclose(file);
    return found;
}

char *server_binary_user_name(unsigned uid)
{
    FILE *file = fopen("/etc/passwd", "re");
    char *name = NULL;

    if (!file)
        return NULL;
    for (struct passwd *entry; !name && (entry = fgetpwent(file));) {
        if (entry->pw_uid == uid)
            name = xstrdup(entry->pw_name);
    }
    fclose(file);
    return name;
}
