/* SPDX-License-Identifier: Apache-2.0 */
#include "common/base.h"

#include "common/ca_bundle.h"

#include <limits.h>
#include <sys/stat.h>
#include <unistd.h>

#include "common/alloc.h"

/* The list of Go's crypto/x509 (root_linux.go), which follows distributions. */
static const char *const system_bundles[] = {
    "/etc/ssl/certs/ca-certificates.crt",                /* Debian, Ubuntu, Alpine; our images */
    "/etc/pki/tls/certs/ca-bundle.crt",                  /* Fedora, RHEL, Oracle Linux */
    "/etc/ssl/ca-bundle.pem",                            /* openSUSE */
    "/etc/pki/ca-trust/extracted/pem/tls-ca-bundle.pem", /* RHEL */
    "/etc/ssl/cert.pem",                                 /* Alpine */
    NULL,
};

static bool is_usable(const char *path)
{
    struct stat st;
    return stat(path, &st) == 0 && S_ISREG(st.st_mode) && st.st_size > 0 && access(path, R_OK) == 0;
}

static char *beside(const char *program)
{
    const char *slash = program ? strrchr(program, '/') : NULL;
    char *path = slash ? xasprintf("%.*s/" CA_BUNDLE_NAME, (int)(slash - program), program) : NULL;
    if (path && is_usable(path))
        return path;
    free(path);
    return NULL;
}

char *ca_bundle_choose(const struct ca_bundle_places *places)
{
    if (!str_empty(places->wish))
        return xstrdup(places->wish);
    for (const char *const *path = places->system; *path; path++)
        if (is_usable(*path))
            return xstrdup(*path);
    return beside(places->program);
}

char *ca_bundle_find(void)
{
    char program[PATH_MAX];
    const ssize_t len = readlink("/proc/self/exe", program, sizeof(program) - 1);
    program[len > 0 ? len : 0] = '\0';
    return ca_bundle_choose(&(struct ca_bundle_places){getenv("SSL_CERT_FILE"), system_bundles, program});
}
