/* SPDX-License-Identifier: Apache-2.0 */
#include "common/base.h"

#include "agent/seed_prepare.h"

#include "agent/bootstrap/clone_finish.h"
#include "agent/bootstrap/last_words.h"
#include "common/alloc.h"
#include "common/log.h"
#include "common/strvec.h"
#include "common/subprocess.h"

#define TELLING_BYTES 400

struct seed_prepare {
    struct seed_prepare_options options;
    struct subprocess *process;
    struct strvec argv;
    struct loop_timer settle; /* a process is not freed inside its own callback */
    enum { START_FIRST, ROLL_BACK, START_AGAIN } stage;
    struct last_words words; /* of the program that runs */
};

static int start(struct seed_prepare *prepare, const struct subprocess_ops *ops, struct error *err)
{
    struct subprocess_options options = {.argv = (const char *const *)prepare->argv.v, .new_process_group = true};

    prepare->words = (struct last_words){.count = 0};
    subprocess_free(steal_ptr(prepare->process));
    prepare->process = subprocess_start(prepare->options.loop, &options, ops, prepare, err);
    return prepare->process ? 0 : -1;
}

static void end_with(struct seed_prepare *prepare, const struct error *err)
{
    prepare->options.done(prepare->options.arg, err);
}

static void fail(struct seed_prepare *prepare, const char *what, const struct subprocess_result *result)
{
    struct error err = ERROR_INIT;
    char telling[TELLING_BYTES];

    last_words_log(&prepare->words, subprocess_name((const char *const *)prepare->argv.v));
    last_words_telling(&prepare->words, telling, sizeof(telling));
    error_set(&err, ERROR_IO, "%s ended with %s %d: %s", what, result->term_signal ? "signal" : "status",
        result->term_signal ? result->term_signal : result->exit_code, telling);
    end_with(prepare, &err);
}

/* ---- a server settles what was left open ---- */

static void on_settle_line(void *arg, const char *line)
{
    struct seed_prepare *prepare = arg;

    log_debug("settling", LOG_STR("line", line));
    last_words_note(&prepare->words, line);
    if (strstr(line, "prepared transaction(s) in InnoDB"))
        log_info("the copy holds prepared transactions: an applier's are rolled back, a client's stay",
            LOG_STR("server", line));
}

/* A copy that it does not start on may hold prepared transactions: these are rolled back, whatever the reason was, and
 * it is tried once more. */
static void on_settled(void *arg, const struct subprocess_result *result)
{
    struct seed_prepare *prepare = arg;

    if (prepare->stage == START_AGAIN && result->exit_code != 0) {
        fail(prepare, "the server cannot be started on the copy: it", result);
    } else if (prepare->stage != ROLL_BACK && result->exit_code == 0) {
        end_with(prepare, NULL);
    } else {
        prepare->stage++;
        loop_timer_arm(&prepare->settle, 0);
    }
}

static void on_settle_due(void *arg)
{
    static const struct subprocess_ops ops = {.stderr_line = on_settle_line, .exited = on_settled};
    struct seed_prepare *prepare = arg;
    struct error err = ERROR_INIT;

    strvec_release(&prepare->argv);
    clone_settle_command(
        prepare->options.paths, prepare->options.prepared->binary.path, prepare->stage == ROLL_BACK, &prepare->argv);
    if (start(prepare, &ops, &err) < 0)
        end_with(prepare, &err);
}

/* ---- mariadb-backup applies the log ---- */

static void on_prepare_line(void *arg, const char *line)
{
    struct seed_prepare *prepare = arg;

    last_words_note(&prepare->words, line);
    log_debug("preparing", LOG_STR("line", line));
}

static void on_prepared(void *arg, const struct subprocess_result *result)
{
    struct seed_prepare *prepare = arg;

    if (result->exit_code == 0)
        loop_timer_arm(&prepare->settle, 0);
    else
        fail(prepare, "making the copy consistent: mariadb-backup", result);
}

struct seed_prepare *seed_prepare_start(const struct seed_prepare_options *options, struct error *err)
{
    static const struct subprocess_ops ops = {.stderr_line = on_prepare_line, .exited = on_prepared};
    struct seed_prepare *prepare = xnew(struct seed_prepare);

    prepare->options = *options;
    strvec_init(&prepare->argv);
    loop_timer_init(&prepare->settle, options->loop, on_settle_due, prepare);
    if (clone_prepare_command(options->paths, &prepare->argv, err) < 0 || start(prepare, &ops, err) < 0) {
        seed_prepare_free(prepare);
        return NULL;
    }
    log_info("the copy has arrived and is made consistent", LOG_STR("memory", prepare->argv.v[prepare->argv.n - 1]));
    return prepare;
}

void seed_prepare_free(struct seed_prepare *prepare)
{
    if (!prepare)
        return;
    subprocess_free(prepare->process);
    loop_timer_release(&prepare->settle);
    strvec_release(&prepare->argv);
    free(prepare);
}
