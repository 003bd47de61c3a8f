/* SPDX-License-Identifier: Apache-2.0 */
#include "common/base.h"

#include "agent/server_start.h"

#include <arpa/inet.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

#include "agent/bootstrap/relay_keep.h"
#include "agent/bootstrap/server_binary.h"
#include "agent/bootstrap/server_exec.h"
#include "agent/bootstrap/server_features.h"
#include "agent/bootstrap/server_id.h"
#include "agent/bootstrap/start_mode.h"
#include "agent/bootstrap/volume_mark.h"
#include "agent/bootstrap/volume_reserve.h"
#include "agent/gtid_loss_note.h"
#include "agent/mysql/start_domain.h"
#include "agent/put_back.h"
#include "agent/set_aside_beyond.h"
#include "agent/set_aside_tail.h"
#include "agent/tmp_scout.h"
#include "common/alloc.h"
#include "common/clock.h"
#include "common/log.h"
#include "common/strvec.h"

#define POLL_MS 20

/* Other members' pods have loopbacks of their own: who listens on this port is our agent. */
static bool agent_lives(const struct agent_options *options)
{
    struct sockaddr_in address = {
        .sin_family = AF_INET, .sin_port = htons(options->plain_port), .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
    int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);

    if (fd < 0)
        return false;
    bool lives = connect(fd, (struct sockaddr *)&address, sizeof(address)) == 0;
    close(fd);
    return lives;
}

static bool await_word(const struct agent_options *options, struct start_mode *ret)
{
    int64_t end_ms = clock_monotonic_ms() + SERVER_START_PATIENCE_MS;
    const struct timespec pause = {.tv_nsec = POLL_MS * 1000000L};

    while (!start_mode_read(&options->paths, ret)) {
        if (clock_monotonic_ms() >= end_ms || !agent_lives(options))
            return false;
        nanosleep(&pause, NULL);
    }
    return true;
}

/* What cannot be set aside is not cut off (I7), nor what could not be taken back. The member is copied anew then: it
 * has something that the primary has not. */
static bool set_tail_aside(
    const struct agent_options *options, uint64_t epoch, const struct set_aside_beyond *beyond, const char *shared)
{
    struct agent_set_asides sets;
    struct error err = ERROR_INIT;

    if (set_aside_tail(&options->paths, epoch, beyond->end, &sets, &err) == 0 &&
        (str_empty(shared) || put_back_note(&options->paths, sets.sets[0], shared, &err) == 0))
        return true;
    log_warn("the end of the binary log cannot be set aside: it is left as it is", LOG_ERR(&err));
    return false;
}

/* Whether this server cuts anything off. One that does not is started plainly, and what it has alone is found as
 * errant: a copy replaces its data. */
static bool can_truncate(const struct server_binary *binary)
{
    struct server_features features = {0};
    struct error err = ERROR_INIT;

    if (server_features_ask(binary, &features, NULL, &err) < 0) {
        log_warn("whether the server can cut off what nobody has acknowledged is not known", LOG_ERR(&err));
        return false;
    }
    if (!features.log_first)
        log_warn("this server cannot cut off what nobody has acknowledged: if there is any, its data will be replaced");
    return features.log_first;
}

/* What becomes of the end of the binary log, which nobody may have acknowledged. */
enum tail { TAIL_STAYS, TAIL_IS_HELD_ELSEWHERE, TAIL_IS_CUT_OFF };

static enum tail judge_end(const struct agent_options *options, const struct server_binary *binary,
    uint64_t primary_epoch, const struct start_mode *mode)
{
    struct set_aside_beyond beyond = {.known = false};
    enum tail tail = TAIL_STAYS;

    if (!str_empty(mode->beyond))
        set_aside_beyond_find(options->paths.data_dir, GTID_MARIADB, mode->beyond, &beyond);
    /* What the primary had of it when it was chosen; "": not known. */
    const char *shared = beyond.known ? str_or_empty(beyond.shared.buf) : "";
    if (beyond.known && beyond.gtids.len == 0) {
        log_info("the primary has all that this server has: nothing is cut off", LOG_STR("gtid", mode->beyond));
        tail = TAIL_IS_HELD_ELSEWHERE;
    } else if (can_truncate(binary) && set_tail_aside(options, primary_epoch, &beyond, shared))
        tail = TAIL_IS_CUT_OFF;
    set_aside_beyond_release(&beyond);
    return tail;
}

static enum tail judge_tail(
    const struct agent_options *options, const struct server_binary *binary, uint64_t primary_epoch)
{
    struct start_mode mode = {0};

    if (!primary_epoch || binary->version.flavour != AGENT_FLAVOUR_MARIADB)
        return TAIL_STAYS;
    log_info("the server ended as a semi-sync primary; the operator's word is awaited",
        LOG_INT("epoch", (int64_t)primary_epoch));
    if (!await_word(options, &mode)) {
        log_info("nothing was said: the server is started plainly");
        return TAIL_STAYS;
    }
    if (!mode.truncate || mode.epoch <= primary_epoch || gtid_loss_note_read(&options->paths).is_lost)
        return TAIL_STAYS; /* behind a position that was set back no number tells what others have */
    return judge_end(options, binary, primary_epoch, &mode);
}

/* What is not noted is not cut off. The server never gives the numbers of what is cut off to something else: whoever is
 * opened although it lacks transactions (dataLoss: allow) may be this one, and another member may hold them. */
static bool note_cut(const struct agent_paths *paths)
{
    struct error err = ERROR_INIT;

    if (server_id_draw_anew(paths, &err) == 0 && start_mode_note_cut(paths, &err) == 0)
        return true;
    log_warn("that the end of the binary log is cut off cannot be noted: it is left as it is", LOG_ERR(&err));
    return false;
}

/* A start that cut off the end of the binary log has not come to its end. The server may refuse to start now ("Found 2
 * prepared transactions"), or complete a DDL statement behind the cut, which is found by its domain only if this start
 * logs it. */
static int give_up_data(const struct agent_paths *paths, struct error *err)
{
    if (!start_mode_has_cut(paths))
        return 0;
    log_warn("a start that cut off the end of the binary log was interrupted: the data is to be replaced by a copy");
    return volume_mark_write(paths, AGENT_MARK_RESEED, err);
}

int server_start(const struct agent_options *options, struct error *err)
{
    static const char *const truncating[] = {
        "--init-rpl-role=SLAVE", "--rpl-semi-sync-slave-enabled=ON", START_DOMAIN_OPTION, NULL};
    static const char *const in_its_domain[] = {START_DOMAIN_OPTION, NULL};
    const struct agent_paths *paths = &options->paths;
    _cleanup_(strvec_release) struct strvec extra;
    struct server_binary binary;

    strvec_init(&extra);
    if (server_is_there(paths))
        return server_exec(paths, NULL, err); /* says so */
    if (server_wait_for_leave(paths, err) < 0) {
        if (err->kind != ERROR_CANCELLED)
            return -1;
        log_info("there is no server to end", LOG_STR("why", err->message));
        error_clear(err);
        return 0;
    }
    (void)volume_reserve_start(paths);
    if (give_up_data(paths, err) < 0)
        return error_prefix(err, "the mark of a start that was interrupted");
    if (server_binary_find(&binary, err) < 0)
        return -1;
    struct server_version version = binary.version;
    bool was_interrupted = start_mode_has_cut(paths);
    enum tail tail = judge_tail(options, &binary, start_mode_primary(paths));
    bool truncate = tail == TAIL_IS_CUT_OFF && note_cut(paths);
    server_binary_release(&binary);
    if (truncate)
        log_warn("the server cuts off what nobody has acknowledged: another primary has the rest");
    /* Both are used up now, whatever becomes of the start. */
    start_mode_clear(paths);
    if (start_mode_mark_primary(paths, 0, err) < 0)
        return error_prefix(err, "the mark of a semi-sync primary");
    const char *relay_logs = relay_keep_option(paths, &version);
    if (relay_logs)
        strvec_push(&extra, relay_logs);
    _cleanup_(freep) char *server_id = server_id_option(paths);
    if (server_id)
        strvec_push(&extra, server_id);
    if (truncate || was_interrupted || tail == TAIL_IS_HELD_ELSEWHERE)
        strvec_push_all(&extra, truncate ? truncating : in_its_domain);
    tmp_scout_start(paths, version.flavour != AGENT_FLAVOUR_MARIADB);
    return server_exec(paths, (const char *const *)extra.v, err);
}
