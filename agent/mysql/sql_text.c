/* SPDX-License-Identifier: Apache-2.0 */
#include "common/base.h"

#include "agent/mysql/sql_text.h"

#include <openssl/crypto.h>
#include <openssl/sha.h>

static const char *escape_of(char c)
{
    switch (c) {
    case '\'':
        return "\\'";
    case '"':
        return "\\\"";
    case '\\':
        return "\\\\";
    case '\n':
        return "\\n";
    case '\r':
        return "\\r";
    case 0x1a:
        return "\\Z";
    default:
        return NULL;
    }
}

void sql_add_string(struct strbuf *out, const char *text)
{
    strbuf_addc(out, '\'');
    for (; *text; text++) {
        const char *escape = escape_of(*text);
        if (escape)
            strbuf_adds(out, escape);
        else
            strbuf_addc(out, *text);
    }
    strbuf_addc(out, '\'');
}

static void add_backticked(struct strbuf *out, const char *name, const char *wildcards)
{
    strbuf_addc(out, '`');
    for (; *name; name++) {
        if (*name == '`')
            strbuf_addc(out, '`');
        else if (strchr(wildcards, *name))
            strbuf_addc(out, '\\');
        strbuf_addc(out, *name);
    }
    strbuf_addc(out, '`');
}

void sql_add_identifier(struct strbuf *out, const char *name)
{
    add_backticked(out, name, "");
}

void sql_add_grant_database(struct strbuf *out, const char *name, bool partial_revokes)
{
    add_backticked(out, name, partial_revokes ? "" : "_%\\");
}

void sql_add_account(struct strbuf *out, const char *user, const char *host)
{
    sql_add_string(out, user);
    strbuf_addc(out, '@');
    sql_add_string(out, host);
}

void sql_native_password_hash(const char *password, char out[static SQL_NATIVE_HASH_SIZE])
{
    unsigned char once[SHA_DIGEST_LENGTH];
    unsigned char twice[SHA_DIGEST_LENGTH];

    SHA1((const unsigned char *)password, strlen(password), once);
    SHA1(once, sizeof(once), twice);
    out[0] = '*';
    for (size_t i = 0; i < sizeof(twice); i++)
        snprintf(out + 1 + 2 * i, 3, "%02X", twice[i]);
    OPENSSL_cleanse(once, sizeof(once));
}
