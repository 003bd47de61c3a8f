/* SPDX-License-Identifier: Apache-2.0 */
#include "common/base.h"

#include "agent/bootstrap/instance_config.h"

#include "common/fs.h"
#include "common/json.h"
#include "common/strbuf.h"

int instance_config_load(const char *path, struct agent_instance_config *ret, struct error *err)
{
    _cleanup_(strbuf_release) struct strbuf text;

    strbuf_init(&text, FS_READ_MAX);
    if (fs_read_file(path, &text, err) < 0)
        return -1;
    _cleanup_(json_decrefp) json_t *document = json_parse(text.buf, text.len, err);
    if (!document || agent_instance_config_decode(document, ret, err) < 0)
        return error_prefix(err, "%s", path);
    return 0;
}
