/* SPDX-License-Identifier: Apache-2.0 */
#include "common/base.h"

#include "operator/kube/kube_token.h"

#include <ctype.h>
#include <errno.h>
#include <sys/stat.h>

#include "common/alloc.h"
#include "common/fs.h"
#include "common/log.h"

#define CHECK_INTERVAL_MS 1000
#define CHECK_NOW INT64_MIN

/* -1 if the file holds nothing or cannot be read; the old value stays. */
static int token_read(struct kube_token *token, struct error *err)
{
    struct stat st;
    if (stat(token->file, &st) < 0)
        return error_set_errno(err, errno, "%s", token->file);
    struct strbuf text;
    strbuf_init(&text, FS_READ_MAX);
    int rc = fs_read_file(token->file, &text, err);
    while (rc == 0 && text.len > 0 && isspace((unsigned char)text.buf[text.len - 1]))
        strbuf_truncate(&text, text.len - 1);
    if (rc == 0 && (text.len == 0 || strpbrk(text.buf, "\r\n")))
        rc = error_set(err, ERROR_INVALID, "%s: not a token", token->file);
    if (rc == 0) {
        secret_free(token->value);
        token->value = xstrdup(text.buf);
        token->mtime = st.st_mtim;
        token->inode = st.st_ino;
    }
    strbuf_release_secret(&text);
    return rc;
}

int kube_token_init(struct kube_token *token, const char *value, const char *file, struct error *err)
{
    *token = (struct kube_token){.checked_ms = CHECK_NOW};
    if (!file) {
        token->value = xstrdup(value);
        return 0;
    }
    token->file = xstrdup(file);
    if (token_read(token, err) == 0)
        return 0;
    kube_token_release(token);
    return -1;
}

void kube_token_release(struct kube_token *token)
{
    free(token->file);
    secret_free(token->value);
    *token = (struct kube_token){.file = NULL};
}

static bool file_changed(const struct kube_token *token)
{
    struct stat st;
    if (stat(token->file, &st) < 0)
        return false; /* in mid-replacement at worst; the value in hand still works */
    return st.st_ino != token->inode || st.st_mtim.tv_sec != token->mtime.tv_sec ||
        st.st_mtim.tv_nsec != token->mtime.tv_nsec;
}

const char *kube_token_get(struct kube_token *token, int64_t now_ms)
{
    if (!token->file || (token->checked_ms != CHECK_NOW && now_ms - token->checked_ms < CHECK_INTERVAL_MS))
        return token->value;
    bool forced = token->checked_ms == CHECK_NOW;
    token->checked_ms = now_ms;
    struct error err = ERROR_INIT;
    if ((forced || file_changed(token)) && token_read(token, &err) < 0)
        log_warn("cannot read the token again", LOG_ERR(&err));
    return token->value;
}

bool kube_token_distrust(struct kube_token *token)
{
    token->checked_ms = CHECK_NOW;
    return token->file != NULL;
}
