/* SPDX-License-Identifier: Apache-2.0 */
#include "common/base.h"

#include "agent/pod_uid.h"

#include <ctype.h>

#include "common/fs.h"
#include "common/strbuf.h"
#include "common/strvec.h"

#define MOUNTINFO_MAX (size_t)(256 * KM_KIB)
#define UUID_LEN 36

static bool is_uuid(const char *text)
{
    for (int i = 0; i < UUID_LEN; i++) {
        bool dash = i == 8 || i == 13 || i == 18 || i == 23;
        if (dash ? text[i] != '-' : !isdigit((unsigned char)text[i]) && !(text[i] >= 'a' && text[i] <= 'f'))
            return false;
    }
    return text[UUID_LEN] == '/';
}

/* In "/var/lib/kubelet/pods/UID/etc-hosts". */
static const char *uid_in(const char *root)
{
    static const char parent[] = "/pods/";

    for (const char *at = strstr(root, parent); at; at = strstr(at + 1, parent)) {
        if (is_uuid(at + strlen(parent)))
            return at + strlen(parent);
    }
    return NULL;
}

void pod_uid_find(const char *mountinfo, const char *run_dir, char ret[static AGENT_POD_UID_SIZE])
{
    _cleanup_(strvec_release) struct strvec lines;

    ret[0] = '\0';
    strvec_init(&lines);
    strvec_split(&lines, mountinfo, "\n");
    for (size_t i = 0; i < lines.n; i++) {
        _cleanup_(strvec_release) struct strvec words;
        strvec_init(&words);
        strvec_split(&words, lines.v[i], " ");
        if (words.n < 5 ||
            !(str_eq(words.v[4], run_dir) || str_eq(words.v[4], "/etc/hosts") ||
                str_eq(words.v[4], "/dev/termination-log")))
            continue;
        const char *uid = uid_in(words.v[3]);
        if (uid && *ret && strncmp(ret, uid, UUID_LEN) != 0) {
            ret[0] = '\0';
            return;
        }
        if (uid)
            snprintf(ret, AGENT_POD_UID_SIZE, "%.*s", UUID_LEN, uid);
    }
}

void pod_uid_read(const char *run_dir, char ret[static AGENT_POD_UID_SIZE])
{
    _cleanup_(strbuf_release) struct strbuf text;

    strbuf_init(&text, MOUNTINFO_MAX);
    ret[0] = '\0';
    if (fs_read_file("/proc/self/mountinfo", &text, NULL) == 0)
        pod_uid_find(text.buf, run_dir, ret);
}
