/* SPDX-License-Identifier: Apache-2.0 */
#include "common/base.h"

#include "common/subprocess.h"

#include <fcntl.h>
#include <setjmp.h>
#include <signal.h>
#include <unistd.h>
#include <cmocka.h>

#include "common/alloc.h"
#include "common/clock.h"
#include "common/tests/http_util.h"

#define SHELL(script) ((const char *const[]){"/bin/sh", "-c", (script), NULL})

static int run(
    struct subprocess_options options, struct strbuf *out, struct subprocess_result *result, struct error *err)
{
    if (out)
        strbuf_init(out, 200000);
    return subprocess_run(&options, out, NULL, result, err);
}

#define OPTIONS(...) ((struct subprocess_options){__VA_ARGS__})

static void test_name(void **state)
{
    static const struct {
        const char *argv[3];
        const char *name;
    } rows[] = {
        {{"/usr/bin/mariadb-backup", "--backup", NULL}, "mariadb-backup"},
        {{"true", NULL}, "true"},
        {{"/proc/self/exe", "copy-out", NULL}, "copy-out"},
        {{"/proc/self/exe", NULL}, "exe"},
    };

    UNUSED(state);
    for (size_t i = 0; i < ARRAY_LEN(rows); i++)
        assert_string_equal(subprocess_name(rows[i].argv), rows[i].name);
}

static void test_run_status(void **state)
{
    UNUSED(state);
    struct subprocess_result result;
    struct error err = ERROR_INIT;
    struct strbuf out;
    assert_int_equal(run(OPTIONS(.argv = SHELL("echo hello")), &out, &result, &err), 0);
    assert_string_equal(out.buf, "hello\n");
    assert_int_equal(result.exit_code, 0);
    strbuf_release(&out);
    assert_int_equal(
        run(OPTIONS(.argv = SHELL("echo first >&2; echo the reason >&2; exit 3")), NULL, &result, &err), -1);
    assert_int_equal(result.exit_code, 3);
    assert_int_equal(err.kind, ERROR_IO);
    assert_string_equal(err.message, "/bin/sh ended with status 3: the reason");
    assert_int_equal(run(OPTIONS(.argv = SHELL("kill -9 $$")), NULL, &result, &err), -1);
    assert_int_equal(result.term_signal, SIGKILL);
    assert_int_equal(result.exit_code, -1);
    static const char *const missing[] = {"/no/such/program", NULL};
    assert_int_equal(run(OPTIONS(.argv = missing), NULL, &result, &err), -1);
    assert_int_equal(err.kind, ERROR_NOT_FOUND);
    static const char *const by_path[] = {"true", NULL};
    assert_int_equal(run(OPTIONS(.argv = by_path), NULL, NULL, &err), 0);
}

static void test_run_input_and_output(void **state)
{
    UNUSED(state);
    struct error err = ERROR_INIT;
    struct strbuf out;
    char *input = xcalloc(1, 150001);
    memset(input, 'i', 150000);
    static const char *const cat[] = {"cat", NULL};
    assert_int_equal(run(OPTIONS(.argv = cat, .stdin_data = input, .stdin_len = 150000), &out, NULL, &err), 0);
    assert_int_equal(out.len, 150000);
    assert_string_equal(out.buf, input);
    strbuf_release(&out);
    assert_int_equal(run(OPTIONS(.argv = cat), &out, NULL, &err), 0); /* /dev/null, not ours */
    assert_int_equal(out.len, 0);
    strbuf_release(&out);
    free(input);
    static const char *const env[] = {"ONLY=this", "PATH=/bin:/usr/bin", NULL};
    assert_int_equal(run(OPTIONS(.argv = SHELL("echo $ONLY$HOME"), .env = env), &out, NULL, &err), 0);
    assert_string_equal(out.buf, "this\n");
    strbuf_release(&out);
    /* What does not fit is dropped, the child is not blocked by it. */
    strbuf_init(&out, 10);
    const struct subprocess_options chatty = {.argv = SHELL("head -c 300000 /dev/zero | tr '\\0' z")};
    assert_int_equal(subprocess_run(&chatty, &out, NULL, NULL, &err), 0);
    assert_string_equal(out.buf, "zzzzzzzzzz");
    strbuf_release(&out);
}

static void test_stderr_tail(void **state)
{
    UNUSED(state);
    struct error err = ERROR_INIT;
    struct strbuf tail;
    strbuf_init(&tail, 1000);
    const struct subprocess_options options = {
        .argv = SHELL("i=0; while [ $i -lt 2000 ]; do echo line $i >&2; i=$((i+1)); done; echo; exit 1")};
    assert_int_equal(subprocess_run(&options, NULL, &tail, NULL, &err), -1);
    assert_int_equal(tail.len, 1000);
    assert_true(str_eq(tail.buf + tail.len - 10, "line 1999\n"));
    assert_non_null(strstr(err.message, ": line 1999"));
    strbuf_release(&tail);
}

static void test_descriptors_and_signals_of_the_child(void **state)
{
    UNUSED(state);
    struct error err = ERROR_INIT;
    struct strbuf out;
    sigset_t block;
    sigset_t before;
    const int fd = open("/dev/null", O_RDONLY); /* inheritable */
    const int high = fcntl(fd, F_DUPFD, 200);
    sigemptyset(&block);
    sigaddset(&block, SIGTERM);
    sigprocmask(SIG_BLOCK, &block, &before);
    signal(SIGPIPE, SIG_IGN);
    const int open_before = count_open_fds();
    static const char *const list[] = {"ls", "/proc/self/fd", NULL};
    assert_int_equal(run(OPTIONS(.argv = list), &out, NULL, &err), 0);
    assert_string_equal(out.buf, "0\n1\n2\n3\n"); /* 3 is what ls itself opened to look */
    strbuf_release(&out);
    /* Bits 31 and 32 are the C library's own; posix_spawn ignores them in every child. */
    static const char *const status[] = {
        "sed", "-n", "s/^Sig[BI][lg][kn]:.*\\([0-9a-f]\\{7\\}\\)$/\\1/p", "/proc/self/status", NULL};
    assert_int_equal(run(OPTIONS(.argv = status), &out, NULL, &err), 0);
    assert_string_equal(out.buf, "0000000\n0000000\n");
    strbuf_release(&out);
    assert_int_equal(count_open_fds(), open_before);
    sigprocmask(SIG_SETMASK, &before, NULL);
    close(fd);
    close(high);
}

static void test_run_timeout(void **state)
{
    UNUSED(state);
    struct subprocess_result result;
    struct error err = ERROR_INIT;
    assert_int_equal(run(OPTIONS(.argv = SHELL("sleep 60 & sleep 60"), .timeout_ms = 50, .new_process_group = true),
                         NULL, &result, &err),
        -1);
    assert_int_equal(err.kind, ERROR_TIMEOUT);
    assert_true(result.timed_out);
    assert_int_equal(result.term_signal, SIGTERM);
}

/* A grandchild that holds the pipes open does not keep us. */
static enum subprocess_watch count_down(void *arg)
{
    int *left = arg;

    if (*left > 0)
        --*left;
    return *left > 0 ? SUBPROCESS_ADVANCES : SUBPROCESS_WAITS;
}

static enum subprocess_watch has_enough(void *arg)
{
    bool *asked = arg;

    *asked = true;
    return SUBPROCESS_ENOUGH;
}

static enum subprocess_watch sees_nothing(void *arg)
{
    UNUSED(arg);
    return SUBPROCESS_WAITS;
}

/* The time-out counts from the last progress, which is a word of the child, or what `watch` says. */
static void test_watch(void **state)
{
    UNUSED(state);
    struct subprocess_result result;
    struct error err = ERROR_INIT;
    int left = 15;
    bool asked = false;

    assert_int_equal(run(OPTIONS(.argv = SHELL("sleep 1"), .timeout_ms = 600, .watch = count_down, .watch_arg = &left),
                         NULL, &result, &err),
        0);
    assert_int_equal(run(OPTIONS(.argv = SHELL("for i in 1 2 3 4 5; do sleep 0.3; echo $i >&2; done"),
                             .timeout_ms = 900, .watch = sees_nothing),
                         NULL, &result, &err),
        0);
    assert_int_equal(
        run(OPTIONS(.argv = SHELL("exec sleep 60"), .timeout_ms = 300, .watch = sees_nothing), NULL, &result, &err), -1);
    assert_true(result.timed_out);
    assert_string_equal(err.message, "/bin/sh made no progress any more");
    assert_int_equal(
        run(OPTIONS(.argv = SHELL("sleep 60"), .new_process_group = true, .watch = has_enough, .watch_arg = &asked),
            NULL, &result, &err),
        0);
    assert_true(asked && result.enough);
    assert_int_equal(result.term_signal, SIGKILL);
}

static void test_daemon_left_behind(void **state)
{
    UNUSED(state);
    struct error err = ERROR_INIT;
    struct strbuf out;
    const int64_t start_ms = clock_monotonic_ms();
    assert_int_equal(run(OPTIONS(.argv = SHELL("sleep 30 & echo started")), &out, NULL, &err), 0);
    assert_string_equal(out.buf, "started\n");
    assert_true(clock_monotonic_ms() - start_ms < 20000);
    strbuf_release(&out);
}

/* ---- on the loop ---- */

struct record {
    struct subprocess *process;
    struct strbuf out;
    struct strbuf lines;
    int line_count;
    int exited;
    struct subprocess_result result;
    bool free_in_data;
    bool free_in_exited;
};

static void on_data(void *arg, const char *data, size_t len)
{
    struct record *r = arg;
    strbuf_add(&r->out, data, len);
    if (r->free_in_data)
        subprocess_free(steal_ptr(r->process));
}

static void on_line(void *arg, const char *line)
{
    struct record *r = arg;
    strbuf_addf(&r->lines, "<%s>", line);
    r->line_count++;
}

static void on_exited(void *arg, const struct subprocess_result *result)
{
    struct record *r = arg;
    r->result = *result;
    r->exited++;
    if (r->free_in_exited)
        subprocess_free(steal_ptr(r->process));
}

static const struct subprocess_ops ops = {.stdout_data = on_data, .stderr_line = on_line, .exited = on_exited};

static void record_init(struct record *r)
{
    *r = (struct record){.process = NULL};
    strbuf_init(&r->out, 4 * KM_MIB);
    strbuf_init(&r->lines, KM_MIB);
}

static void record_release(struct record *r)
{
    subprocess_free(r->process);
    strbuf_release(&r->out);
    strbuf_release(&r->lines);
}

static void test_start(void **state)
{
    UNUSED(state);
    struct record r;
    record_init(&r);
    const int open_before = count_open_fds();
    struct loop *loop = loop_new();
    const struct subprocess_options options = {
        .argv = SHELL("cat; echo a >&2; printf 'b\\r\\n\\nlast' >&2; head -c 1000000 /dev/zero; exit 4"),
        .stdin_data = "in",
        .stdin_len = 2};
    r.process = subprocess_start(loop, &options, &ops, &r, NULL);
    assert_non_null(r.process);
    assert_true(loop_until(loop, &r.exited, 1));
    assert_int_equal(r.result.exit_code, 4);
    assert_int_equal(r.out.len, 1000002);
    assert_true(str_starts_with(r.out.buf, "in"));
    assert_string_equal(r.lines.buf, "<a><b><last>");
    loop_for(loop, 10);
    assert_int_equal(r.exited, 1);
    subprocess_kill(r.process, SIGTERM); /* nothing left to kill */
    record_release(&r);
    loop_free(loop);
    assert_int_equal(count_open_fds(), open_before);
}

static void test_start_timeout_kills_the_group(void **state)
{
    UNUSED(state);
    struct record r;
    record_init(&r);
    struct loop *loop = loop_new();
    /* The child forks one that ignores SIGTERM, says its number and ends itself by the signal. */
    const struct subprocess_options options = {
        .argv = SHELL("(trap '' TERM; exec sleep 60) & echo $!; wait"), .timeout_ms = 150, .new_process_group = true};
    r.process = subprocess_start(loop, &options, &ops, &r, NULL);
    assert_true(loop_until(loop, &r.exited, 1));
    assert_true(r.result.timed_out);
    const pid_t grandchild = (pid_t)strtol(r.out.buf, NULL, 10);
    assert_true(grandchild > 1);
    /* Its zombie belongs to init, or to whoever is that here: gone or dead is both right. */
    char path[64];
    snprintf(path, sizeof(path), "/proc/%d/cmdline", (int)grandchild);
    char byte;
    for (int i = 0; i < 100; i++) {
        const int fd = open(path, O_RDONLY);
        const ssize_t n = fd < 0 ? 0 : read(fd, &byte, 1);
        if (fd >= 0)
            close(fd);
        if (n <= 0)
            break;
        usleep(10000);
        assert_true(i < 99);
    }
    record_release(&r);
    loop_free(loop);
}

static void test_free_in_callbacks(void **state)
{
    UNUSED(state);
    struct loop *loop = loop_new();
    const int open_before = count_open_fds();
    for (int i = 0; i < 2; i++) {
        struct record r;
        record_init(&r);
        r.free_in_data = i == 0;
        r.free_in_exited = i == 1;
        const struct subprocess_options options = {.argv = SHELL("echo x; sleep 0.05; echo y")};
        r.process = subprocess_start(loop, &options, &ops, &r, NULL);
        loop_for(loop, 200);
        assert_int_equal(r.exited, i);
        assert_null(r.process);
        record_release(&r);
    }
    /* Freed while it runs: killed, reaped, silent. */
    struct record r;
    record_init(&r);
    const struct subprocess_options options = {.argv = SHELL("exec sleep 60")};
    r.process = subprocess_start(loop, &options, &ops, &r, NULL);
    loop_for(loop, 20);
    subprocess_free(steal_ptr(r.process));
    loop_for(loop, 20);
    assert_int_equal(r.exited, 0);
    record_release(&r);
    assert_int_equal(count_open_fds(), open_before);
    loop_free(loop);
}

static void test_start_kill_and_missing(void **state)
{
    UNUSED(state);
    struct record r;
    struct error err = ERROR_INIT;
    record_init(&r);
    struct loop *loop = loop_new();
    const struct subprocess_options options = {.argv = SHELL("exec sleep 60")};
    r.process = subprocess_start(loop, &options, &ops, &r, &err);
    subprocess_kill(r.process, SIGKILL);
    assert_int_equal(r.exited, 0);
    assert_true(loop_until(loop, &r.exited, 1));
    assert_int_equal(r.result.term_signal, SIGKILL);
    assert_false(r.result.timed_out);
    static const char *const missing[] = {"no-such-program-anywhere", NULL};
    const struct subprocess_options bad = {.argv = missing};
    assert_null(subprocess_start(loop, &bad, &ops, &r, &err));
    assert_int_equal(err.kind, ERROR_NOT_FOUND);
    record_release(&r);
    loop_free(loop);
}

/* ---- two children and their pipe, told by descriptor 3 ---- */

/* More than a pipe holds: what does not fit waits. */
/* A longer line comes in pieces. */
static void test_lengths_of_lines(void **state)
{
    static const struct {
        size_t line_max, said, pieces;
    } rows[] = {{0, 4096, 1}, {0, 5000, 2}, {20000, 5000, 1}, {20000, 20001, 2}};
    struct loop *loop = loop_new();

    UNUSED(state);
    for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
        struct record r;
        struct error err = ERROR_INIT;
        size_t pieces = 0;
        record_init(&r);
        _cleanup_(freep) char *script = xasprintf("head -c %zu /dev/zero | tr '\\0' x >&2", rows[i].said);
        const char *argv[] = {"sh", "-c", script, NULL};
        const struct subprocess_options options = {.argv = argv, .line_max = rows[i].line_max};
        r.process = subprocess_start(loop, &options, &ops, &r, &err);
        assert_non_null(r.process);
        assert_true(loop_until(loop, &r.exited, 1));
        for (const char *at = r.lines.buf; (at = strchr(at, '<')); at++)
            pieces++;
        assert_int_equal(pieces, rows[i].pieces);
        assert_int_equal(r.lines.len, rows[i].said + 2 * pieces);
        record_release(&r);
    }
    loop_free(loop);
}

#define WORDS_BYTES (SUBPROCESS_CONTROL_MAX * 3 / 4)

static void test_control_and_pipe_between_children(void **state)
{
    UNUSED(state);
    struct loop *loop = loop_new();
    const int open_before = count_open_fds();
    struct record writer, reader;
    struct error err = ERROR_INIT;
    int from = -1, to = -1;
    char *words = xcalloc(1, WORDS_BYTES + 1);
    memset(words, 'w', WORDS_BYTES);
    record_init(&writer);
    record_init(&reader);
    assert_int_equal(subprocess_pipe(&from, &to, (size_t)(256 * KM_KIB), &err), 0);
    const struct subprocess_options giving = {
        .argv = SHELL("sleep 0.1; cat <&3; echo said >&2; [ ! -e /dev/fd/4 ]"), .out_fd = to, .control_pipe = true};
    const struct subprocess_options taking = {.argv = SHELL("wc -c"), .in_fd = from};
    writer.process = subprocess_start(loop, &giving, &ops, &writer, &err);
    reader.process = subprocess_start(loop, &taking, &ops, &reader, &err);
    assert_non_null(writer.process);
    assert_non_null(reader.process);
    assert_int_equal(subprocess_control(writer.process, words, WORDS_BYTES), 0);
    assert_int_equal(subprocess_control(writer.process, words, WORDS_BYTES), -1); /* more than may wait */
    subprocess_close_control(writer.process);
    assert_true(loop_until(loop, &writer.exited, 1) && loop_until(loop, &reader.exited, 1));
    assert_int_equal(writer.result.exit_code, 0);
    assert_string_equal(writer.lines.buf, "<said>");
    assert_int_equal(writer.out.len, 0);
    assert_int_equal(strtol(reader.out.buf, NULL, 10), WORDS_BYTES);
    record_release(&writer);
    record_release(&reader);
    /* What was given is closed even if there is no child. */
    static const char *const missing[] = {"no-such-program-anywhere", NULL};
    assert_int_equal(subprocess_pipe(&from, &to, 0, &err), 0);
    const struct subprocess_options bad = {.argv = missing, .in_fd = from, .out_fd = to, .control_pipe = true};
    assert_null(subprocess_start(loop, &bad, &ops, NULL, &err));
    assert_int_equal(count_open_fds(), open_before);
    free(words);
    loop_free(loop);
}

/* ---- flow control ---- */

struct pump {
    struct subprocess *process;
    char *input;
    size_t len;
    size_t written;
    struct strbuf out;
    int exited;
    bool pause_once;
};

static void pump_write(void *arg)
{
    struct pump *pump = arg;
    ssize_t n = subprocess_write(pump->process, pump->input + pump->written, pump->len - pump->written);
    assert_true(n >= 0);
    pump->written += (size_t)n;
    if (pump->written == pump->len)
        subprocess_close_stdin(pump->process);
}

static void pump_data(void *arg, const char *data, size_t len)
{
    struct pump *pump = arg;
    strbuf_add(&pump->out, data, len);
    if (pump->pause_once) {
        pump->pause_once = false;
        subprocess_pause_stdout(pump->process);
    }
}

static void pump_exited(void *arg, const struct subprocess_result *result)
{
    struct pump *pump = arg;
    assert_int_equal(result->exit_code, 0);
    pump->exited++;
}

static void test_pipes_hold_back(void **state)
{
    UNUSED(state);
    static const struct subprocess_ops pump_ops = {
        .stdout_data = pump_data, .exited = pump_exited, .stdin_ready = pump_write};
    struct loop *loop = loop_new();
    struct pump pump = {.len = 3 * KM_MIB, .pause_once = true};
    struct subprocess_options options = {.argv = SHELL("cat"), .stdin_pipe = true, .pipe_bytes = 128 * KM_KIB};
    strbuf_init(&pump.out, 4 * KM_MIB);
    pump.input = xmalloc(pump.len);
    for (size_t i = 0; i < pump.len; i++)
        pump.input[i] = (char)(i * 7 + i / 1000);
    pump.process = subprocess_start(loop, &options, &pump_ops, &pump, NULL);
    assert_non_null(pump.process);
    pump_write(&pump);
    loop_for(loop, 200);
    assert_true(pump.out.len > 0 && pump.out.len <= SUBPROCESS_READ_MAX); /* nothing came while it was paused */
    assert_true(pump.written < pump.len);
    subprocess_resume_stdout(pump.process);
    assert_true(loop_until(loop, &pump.exited, 1));
    assert_int_equal(pump.out.len, pump.len);
    assert_memory_equal(pump.out.buf, pump.input, pump.len);
    subprocess_free(pump.process);
    free(pump.input);
    strbuf_release(&pump.out);
    loop_free(loop);
}

/* What a child wrote before it ended is not lost when it was held back at that moment. */
static void test_end_while_paused(void **state)
{
    UNUSED(state);
    static const struct subprocess_ops pump_ops = {.stdout_data = pump_data, .exited = pump_exited};
    struct loop *loop = loop_new();
    struct pump pump = {.pause_once = true};
    struct subprocess_options options = {.argv = SHELL("head -c 200000 /dev/zero"), .pipe_bytes = 256 * KM_KIB};
    strbuf_init(&pump.out, KM_MIB);
    pump.process = subprocess_start(loop, &options, &pump_ops, &pump, NULL);
    assert_non_null(pump.process);
    loop_for(loop, 300);
    assert_int_equal(pump.exited, 0);
    assert_true(pump.out.len < 200000);
    subprocess_resume_stdout(pump.process);
    assert_true(loop_until(loop, &pump.exited, 1));
    assert_int_equal(pump.out.len, 200000);
    subprocess_free(pump.process);
    strbuf_release(&pump.out);
    loop_free(loop);
}

static void test_child_that_does_not_read(void **state)
{
    UNUSED(state);
    static const struct subprocess_ops pump_ops = {.exited = pump_exited};
    static const char zeros[4096];
    struct loop *loop = loop_new();
    struct pump pump = {0};
    struct subprocess_options options = {.argv = SHELL("exec 0<&-; exit 0"), .stdin_pipe = true};
    pump.process = subprocess_start(loop, &options, &pump_ops, &pump, NULL);
    assert_true(loop_until(loop, &pump.exited, 1));
    assert_int_equal(subprocess_write(pump.process, zeros, sizeof(zeros)), -1);
    subprocess_free(pump.process);
    loop_free(loop);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_pipes_hold_back),
        cmocka_unit_test(test_end_while_paused),
        cmocka_unit_test(test_child_that_does_not_read),
        cmocka_unit_test(test_name),
        cmocka_unit_test(test_run_status),
        cmocka_unit_test(test_run_input_and_output),
        cmocka_unit_test(test_stderr_tail),
        cmocka_unit_test(test_descriptors_and_signals_of_the_child),
        cmocka_unit_test(test_run_timeout),
        cmocka_unit_test(test_watch),
        cmocka_unit_test(test_daemon_left_behind),
        cmocka_unit_test(test_start),
        cmocka_unit_test(test_lengths_of_lines),
        cmocka_unit_test(test_control_and_pipe_between_children),
        cmocka_unit_test(test_start_timeout_kills_the_group),
        cmocka_unit_test(test_free_in_callbacks),
        cmocka_unit_test(test_start_kill_and_missing),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
