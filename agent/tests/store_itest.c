/* SPDX-License-Identifier: Apache-2.0 */
/* `kube-mysql-agent store` itself, over mutual TLS, asked by the client that backups use. */
#include "common/base.h"

#include <arpa/inet.h>
#include <netinet/in.h>
#include <openssl/sha.h>
#include <sched.h>
#include <setjmp.h>
#include <signal.h>
#include <sys/mount.h>
#include <sys/socket.h>
#include <sys/statvfs.h>
#include <sys/wait.h>
#include <unistd.h>
#include <cmocka.h>

#include "common/agent_api.h"
#include "common/alloc.h"
#include "common/clock.h"
#include "common/fs.h"
#include "common/object_store.h"
#include "common/tests/http_util.h"
#include "common/tests/object_util.h"
#include "common/tests/port_util.h"
#include "common/tls.h"

#define PART ((size_t)(5 * KM_MIB))
#define PARALLEL 8
/* Beside the program itself: 32 requests' buffers, 128 connections, TLS. */
#define RSS_MAX_KIB (32 * 1024)

struct world {
    char root[64];
    struct tls_keypair ca;
    uint16_t port, plain_port;
    pid_t pid;
    struct loop *loop;
    struct http_client *client;
    struct object_store *store;
    struct object_result out;
    char *data; /* PARALLEL parts */
};

/* ---- certificates ---- */

static struct tls_keypair issue(const struct tls_keypair *ca, const char *name)
{
    static const char *const dns_names[] = {"store.test", NULL};
    const int64_t now_ms = clock_realtime_ms();
    const struct tls_cert_request request = {.common_name = name,
        .dns_names = dns_names,
        .server_auth = true,
        .client_auth = true,
        .not_before_ms = now_ms - 60000,
        .not_after_ms = now_ms + 3600000};
    struct tls_keypair pair = {0};

    assert_int_equal(tls_issue(ca, &request, &pair, NULL), 0);
    return pair;
}

static void put_file(const struct world *w, const char *name, const char *text)
{
    _cleanup_(freep) char *path = xasprintf("%s/%s", w->root, name);

    assert_int_equal(fs_write_file_atomic(path, text, strlen(text), 0600, NULL), 0);
}

static void put_certificates(struct world *w)
{
    struct tls_keypair pair = issue(&w->ca, AGENT_COMMON_NAME);

    put_file(w, "tls/ca.crt", w->ca.cert_pem);
    put_file(w, "tls/tls.key", pair.key_pem);
    put_file(w, "tls/tls.crt", pair.cert_pem);
    tls_keypair_release(&pair);
}

static struct object_store *connect_as(const struct world *w, const struct tls_keypair *ca, const char *name)
{
    struct tls_keypair pair = issue(ca, name);
    const struct http_tls_options options = {
        .ca_pem = w->ca.cert_pem, .cert_pem = pair.cert_pem, .key_pem = pair.key_pem, .server_name = "store.test"};
    struct http_tls *tls = http_tls_new(&options);
    _cleanup_(freep) char *endpoint = xasprintf("https://store.test:%u", w->port);
    _cleanup_(freep) char *connect_to = xasprintf("127.0.0.1:%u", w->port);
    const struct object_target target = {.is_volume = true,
        .endpoint = endpoint,
        .prefix = "ns/cluster",
        .connect_to = connect_to,
        .tls = tls,
        .retry_base_ms = 20};
    struct error err = ERROR_INIT;
    struct object_store *store = object_store_new(w->loop, &target, &err);

    if (!store)
        fail_msg("%s", err.message);
    http_tls_unref(tls);
    tls_keypair_release(&pair);
    return store;
}

/* ---- the process ---- */

static void exec_store(const struct world *w)
{
    const char *argv[] = {NULL, "store", NULL, NULL, NULL, NULL, NULL, "--bind=127.0.0.1", "--log-level=warn", NULL};

    argv[0] = xasprintf("%s/kube-mysql-agent", getenv("KM_BUILD"));
    argv[2] = xasprintf("--directory=%s/backup", w->root);
    argv[3] = xasprintf("--tls-dir=%s/tls", w->root);
    argv[4] = xasprintf("--tls-port=%u", w->port);
    argv[5] = xasprintf("--plain-port=%u", w->plain_port);
    argv[6] = xasprintf("--termination-log=%s/end", w->root);
    execv(argv[0], (char **)(uintptr_t)argv);
    _exit(127);
}

/* A child of a mount namespace of its own, to which the folder is mounted read-only. */
static void start_reader(struct world *w)
{
    w->pid = fork();
    if (w->pid > 0)
        return;
    _cleanup_(freep) char *dir = xasprintf("%s/backup", w->root);
    if (unshare(CLONE_NEWNS) < 0 || mount(NULL, "/", NULL, MS_REC | MS_PRIVATE, NULL) < 0 ||
        mount(dir, dir, NULL, MS_BIND, NULL) < 0 || mount(NULL, dir, NULL, MS_REMOUNT | MS_BIND | MS_RDONLY, NULL) < 0)
        _exit(77);
    exec_store(w);
}

/* tmpfs_size: the folder is a file system of its own, in the child's own mount namespace; NULL: it is not. */
static void start_store(struct world *w, const char *tmpfs_size)
{
    w->pid = fork();
    if (w->pid > 0)
        return;
    if (tmpfs_size) {
        _cleanup_(freep) char *dir = xasprintf("%s/backup", w->root);
        _cleanup_(freep) char *how = xasprintf("size=%s", tmpfs_size);
        if (unshare(CLONE_NEWNS) < 0 || mount(NULL, "/", NULL, MS_REC | MS_PRIVATE, NULL) < 0 ||
            mount("tmpfs", dir, "tmpfs", 0, how) < 0)
            _exit(77);
    }
    exec_store(w);
}

static void end_store(struct world *w, int signum)
{
    int status = 0;

    kill(w->pid, signum);
    assert_int_equal(waitpid(w->pid, &status, 0), w->pid);
    w->pid = 0;
    assert_int_equal(WIFSIGNALED(status) ? WTERMSIG(status) : WEXITSTATUS(status), signum == SIGTERM ? 0 : signum);
}

static int ask_plain(struct world *w, const char *path)
{
    struct outcome out;
    _cleanup_(freep) char *url = xasprintf("http://127.0.0.1:%u%s", w->plain_port, path);
    const struct http_request_options options = {.method = "GET", .url = url, .done = outcome_done, .arg = &out};

    outcome_init(&out);
    http_client_start(w->client, &options);
    assert_true(loop_until(w->loop, &out.done, 1));
    int status = out.status;
    outcome_release(&out);
    return status;
}

static bool becomes(struct world *w, const char *path, int status)
{
    const int64_t end_ms = clock_monotonic_ms() + 20000;

    while (clock_monotonic_ms() < end_ms) {
        int result = 0;
        if (waitpid(w->pid, &result, WNOHANG) == w->pid) {
            w->pid = 0;
            return false;
        }
        if (ask_plain(w, path) == status)
            return true;
        loop_for(w->loop, 30);
    }
    return false;
}

static int set_up(void **state)
{
    struct world *w = xnew(struct world);

    snprintf(w->root, sizeof(w->root), "/tmp/km-store-XXXXXX");
    assert_non_null(mkdtemp(w->root));
    _cleanup_(freep) char *tls = xasprintf("%s/tls", w->root);
    _cleanup_(freep) char *backup = xasprintf("%s/backup", w->root);
    assert_int_equal(fs_mkdir_all(tls, 0700, NULL), 0);
    assert_int_equal(fs_mkdir_all(backup, 0700, NULL), 0);
    w->ca = test_ca("one");
    w->port = free_port();
    w->plain_port = free_port();
    w->loop = loop_new();
    w->client = http_client_new(w->loop);
    w->data = object_noise(PARALLEL * PART, 7);
    object_result_init(&w->out, w->loop);
    *state = w;
    return 0;
}

static void open_world(struct world *w)
{
    put_certificates(w);
    start_store(w, NULL);
    assert_true(becomes(w, "/ready", 200));
    w->store = connect_as(w, &w->ca, AGENT_COMMON_NAME);
}

static int tear_down(void **state)
{
    struct world *w = *state;

    object_store_free(w->store);
    if (w->pid > 0)
        end_store(w, SIGTERM);
    http_client_free(w->client);
    object_result_release(&w->out);
    loop_free(w->loop);
    tls_keypair_release(&w->ca);
    assert_int_equal(fs_remove_all(w->root, NULL), 0);
    free(w->data);
    free(w);
    return 0;
}

/* ---- tests ---- */

static void test_objects(void **state)
{
    struct world *w = *state;
    struct object_result *out = &w->out;

    open_world(w);
    assert_int_equal(ask_plain(w, "/live"), 200);
    object_put(w->store, "one/manifest.json", "{}", 2, object_result_done, out);
    object_result_expect(out, ERROR_NONE);
    object_put(w->store, "one/data-000001", w->data, PART, object_result_done, out);
    object_result_expect(out, ERROR_NONE);
    object_put(w->store, "onetwo", "x", 1, object_result_done, out);
    object_result_expect(out, ERROR_NONE);
    object_get(w->store, "one/manifest.json", 100, object_result_got, out);
    object_result_expect(out, ERROR_NONE);
    assert_string_equal(out->body.buf, "{}");
    object_get(w->store, "one/nothing", 100, object_result_got, out);
    object_result_expect(out, ERROR_NOT_FOUND);
    object_result_clear(out);
    object_read(w->store, "one/data-000001", 1000, object_result_data, object_result_done, out);
    object_result_expect(out, ERROR_NONE);
    assert_int_equal(out->body.len, PART - 1000);
    assert_memory_equal(out->body.buf, w->data + 1000, PART - 1000);
    object_result_clear(out);
    object_list(w->store, "one/", 0, object_result_each, object_result_done, out);
    object_result_expect(out, ERROR_NONE);
    assert_int_equal(out->names.n, 2);
    assert_string_equal(out->names.v[0], "one/data-000001");
    assert_int_equal(out->bytes, PART + 2);
    assert_in_range(out->modified_min, clock_realtime_ms() - 60000, clock_realtime_ms() + 1000);
    object_result_clear(out);
    object_list(w->store, "", '/', object_result_each, object_result_done, out);
    object_result_expect(out, ERROR_NONE);
    assert_int_equal(out->names.n, 2);
    assert_string_equal(out->names.v[0], "one/");
    object_delete_tree(w->store, "one", "one/manifest.json", object_result_done, out);
    object_result_expect(out, ERROR_NONE);
    object_delete(w->store, "onetwo", object_result_done, out);
    object_result_expect(out, ERROR_NONE);
    object_result_clear(out);
    object_list(w->store, "", 0, object_result_each, object_result_done, out);
    object_result_expect(out, ERROR_NONE);
    assert_int_equal(out->names.n, 0);
}

static struct object_upload *begin(struct world *w, const char *name)
{
    struct object_upload *upload = object_upload_begin(w->store, name, object_result_done, &w->out);

    object_result_expect(&w->out, ERROR_NONE);
    return upload;
}

static void assert_stored(struct world *w, const char *name, size_t len)
{
    object_result_clear(&w->out);
    object_read(w->store, name, 0, object_result_data, object_result_done, &w->out);
    object_result_expect(&w->out, ERROR_NONE);
    assert_int_equal(w->out.body.len, len);
    assert_memory_equal(w->out.body.buf, w->data, len);
}

static long rss_kib(pid_t pid, const char *field)
{
    _cleanup_(freep) char *path = xasprintf("/proc/%d/status", pid);
    _cleanup_(strbuf_release) struct strbuf text;

    strbuf_init(&text, KM_MIB);
    assert_int_equal(fs_read_file(path, &text, NULL), 0);
    const char *at = strstr(text.buf, field);
    assert_non_null(at);
    return strtol(at + strlen(field), NULL, 10);
}

static void count_done(void *arg, const struct error *err)
{
    int *count = arg;

    if (err)
        fail_msg("%s", err->message);
    (*count)++;
}

static void test_memory_of_parallel_parts(void **state)
{
    struct world *w = *state;
    unsigned char sha256[32];
    int done = 0;

    open_world(w);
    struct object_upload *upload = begin(w, "big");
    long before = rss_kib(w->pid, "VmRSS:");
    for (int number = 1; number <= PARALLEL; number++) {
        const char *part = w->data + (size_t)(number - 1) * PART;
        SHA256((const unsigned char *)part, PART, sha256);
        object_upload_part(upload, number, part, PART, sha256, count_done, &done);
    }
    for (int64_t end_ms = clock_monotonic_ms() + 60000; done < PARALLEL && clock_monotonic_ms() < end_ms;)
        loop_run_once(w->loop, 10);
    assert_int_equal(done, PARALLEL);
    long peak = rss_kib(w->pid, "VmHWM:");
    printf(
        "memory of the store: %ld KiB idle, at most %ld KiB with %d parts of 5 MiB at once\n", before, peak, PARALLEL);
#ifndef __SANITIZE_ADDRESS__
    assert_true(peak < RSS_MAX_KIB);
#endif
    object_upload_complete(upload, object_result_done, &w->out);
    object_result_expect(&w->out, ERROR_NONE);
    object_upload_free(upload);
    assert_stored(w, "big", PARALLEL * PART);
}

/* Killed between the parts, at once restarted: the upload goes on. */
static void test_killed_while_it_takes_parts(void **state)
{
    struct world *w = *state;
    unsigned char sha256[32];
    int done = 0;

    open_world(w);
    struct object_upload *upload = begin(w, "big");
    object_part_expect(upload, 1, w->data, PART, &w->out, ERROR_NONE);
    SHA256((const unsigned char *)w->data + PART, PART, sha256);
    object_upload_part(upload, 2, w->data + PART, PART, sha256, count_done, &done);
    loop_for(w->loop, 5);
    end_store(w, SIGKILL);
    start_store(w, NULL);
    for (int64_t end_ms = clock_monotonic_ms() + 60000; done < 1 && clock_monotonic_ms() < end_ms;)
        loop_run_once(w->loop, 10);
    assert_int_equal(done, 1);
    object_part_expect(upload, 3, w->data + 2 * PART, 1000, &w->out, ERROR_NONE);
    object_upload_complete(upload, object_result_done, &w->out);
    object_result_expect(&w->out, ERROR_NONE);
    object_upload_free(upload);
    assert_stored(w, "big", 2 * PART + 1000);
}

static uint64_t free_bytes(const struct world *w)
{
    _cleanup_(freep) char *path = xasprintf("/proc/%d/root%s/backup", w->pid, w->root);
    struct statvfs space;

    assert_int_equal(statvfs(path, &space), 0);
    return (uint64_t)space.f_bavail * space.f_frsize;
}

static void test_a_full_volume(void **state)
{
    struct world *w = *state;
    const size_t rest = (size_t)(3 * KM_MIB);

    put_certificates(w);
    start_store(w, "14m");
    if (!becomes(w, "/ready", 200)) {
        printf("skipped: nothing can be mounted here\n");
        skip();
    }
    w->store = connect_as(w, &w->ca, AGENT_OPERATOR_COMMON_NAME);
    uint64_t at_first = free_bytes(w);
    struct object_upload *upload = begin(w, "big");
    object_part_expect(upload, 1, w->data, PART, &w->out, ERROR_NONE);
    object_part_expect(upload, 2, w->data + PART, PART, &w->out, ERROR_NONE);
    uint64_t with_two = free_bytes(w);
    object_part_expect(upload, 3, w->data + 2 * PART, PART, &w->out, ERROR_TOO_LARGE);
    printf("%s\n", w->out.err.message);
    assert_non_null(strstr(w->out.err.message, "bytes left"));
    assert_int_equal(free_bytes(w), with_two);
    object_put(w->store, "other", w->data, PART, object_result_done, &w->out);
    object_result_expect(&w->out, ERROR_TOO_LARGE);
    assert_int_equal(free_bytes(w), with_two);
    object_part_expect(upload, 3, w->data + 2 * PART, rest, &w->out, ERROR_NONE);
    object_upload_complete(upload, object_result_done, &w->out);
    object_result_expect(&w->out, ERROR_NONE);
    object_upload_free(upload);
    assert_stored(w, "big", 2 * PART + rest);
    object_delete(w->store, "big", object_result_done, &w->out);
    object_result_expect(&w->out, ERROR_NONE);
    assert_in_range(free_bytes(w), at_first - 64 * 1024, at_first);
}

static void test_who_may_come(void **state)
{
    struct world *w = *state;
    struct tls_keypair other = test_ca("other");

    open_world(w);
    object_put(w->store, "a", "x", 1, object_result_done, &w->out);
    object_result_expect(&w->out, ERROR_NONE);
    object_store_free(w->store);
    w->store = connect_as(w, &w->ca, "somebody");
    object_get(w->store, "a", 100, object_result_got, &w->out);
    object_result_expect(&w->out, ERROR_FORBIDDEN);
    object_store_free(w->store);
    w->store = connect_as(w, &other, AGENT_OPERATOR_COMMON_NAME);
    object_get(w->store, "a", 100, object_result_got, &w->out);
    object_result_expect(&w->out, ERROR_UNAVAILABLE);
    tls_keypair_release(&other);
}

static void test_certificates_come_and_change(void **state)
{
    struct world *w = *state;

    start_store(w, NULL);
    assert_true(becomes(w, "/live", 200));
    assert_int_equal(ask_plain(w, "/ready"), 503);
    put_certificates(w);
    assert_true(becomes(w, "/ready", 200));
    w->store = connect_as(w, &w->ca, AGENT_COMMON_NAME);
    object_put(w->store, "a", "x", 1, object_result_done, &w->out);
    object_result_expect(&w->out, ERROR_NONE);
    object_store_free(w->store);
    tls_keypair_release(&w->ca);
    w->ca = test_ca("two");
    put_certificates(w);
    loop_for(w->loop, 2500);
    w->store = connect_as(w, &w->ca, AGENT_COMMON_NAME);
    object_get(w->store, "a", 100, object_result_got, &w->out);
    object_result_expect(&w->out, ERROR_NONE);
}

/* A restore beside the archive, on one volume. */
static void test_one_reads_beside_one_that_writes(void **state)
{
    struct world *w = *state;

    open_world(w);
    struct world reader = *w;
    reader.port = free_port();
    reader.plain_port = free_port();
    start_reader(&reader);
    if (!becomes(&reader, "/ready", 200)) {
        assert_int_equal(reader.pid, 0); /* it never waits */
        printf("skipped: nothing can be mounted here\n");
        skip();
    }
    reader.store = connect_as(&reader, &w->ca, AGENT_COMMON_NAME);
    object_put(w->store, "a", "x", 1, object_result_done, &w->out);
    object_result_expect(&w->out, ERROR_NONE);
    object_get(reader.store, "a", 100, object_result_got, &w->out);
    object_result_expect(&w->out, ERROR_NONE);
    object_put(reader.store, "b", "x", 1, object_result_done, &w->out);
    object_result_expect(&w->out, ERROR_FORBIDDEN);
    object_delete(reader.store, "a", object_result_done, &w->out);
    object_result_expect(&w->out, ERROR_FORBIDDEN);
    object_get(w->store, "a", 100, object_result_got, &w->out);
    object_result_expect(&w->out, ERROR_NONE);
    object_store_free(reader.store);
    end_store(&reader, SIGTERM);
}

/* The one that goes and the one that comes, in a roll. */
static void test_one_store_after_the_other(void **state)
{
    struct world *w = *state;

    open_world(w);
    pid_t first = w->pid;
    w->port = free_port();
    w->plain_port = free_port();
    start_store(w, NULL);
    assert_true(becomes(w, "/live", 200));
    loop_for(w->loop, 1500);
    assert_int_equal(ask_plain(w, "/ready"), 503);
    pid_t second = w->pid;
    w->pid = first;
    end_store(w, SIGTERM);
    w->pid = second;
    assert_true(becomes(w, "/ready", 200));
}

/* What the kubelet shows of it is what the operator tells. */
static void test_a_volume_that_cannot_be_used(void **state)
{
    struct world *w = *state;
    _cleanup_(freep) char *folder = xasprintf("%s/backup", w->root);
    _cleanup_(freep) char *end = xasprintf("%s/end", w->root);
    _cleanup_(strbuf_release) struct strbuf text;
    int status = 0;

    put_certificates(w);
    assert_int_equal(rmdir(folder), 0);
    put_file(w, "backup", "no folder");
    start_store(w, NULL);
    assert_true(becomes(w, "/ready", 503));
    assert_int_equal(waitpid(w->pid, &status, 0), w->pid);
    w->pid = 0;
    assert_int_equal(WEXITSTATUS(status), 1);
    strbuf_init(&text, 4096);
    assert_int_equal(fs_read_file(end, &text, NULL), 0);
    assert_non_null(strstr(text.buf, "backup\" cannot be opened: Not a directory"));
}

static void test_words_that_are_wrong(void **state)
{
    struct world *w = *state;
    int status = 0;

    w->pid = fork();
    if (w->pid == 0) {
        _cleanup_(freep) char *program = xasprintf("%s/kube-mysql-agent", getenv("KM_BUILD"));
        execl(program, program, "store", "--plain-port=0", "--termination-log=/dev/null", "--log-level=error",
            (char *)NULL);
        _exit(127);
    }
    assert_int_equal(waitpid(w->pid, &status, 0), w->pid);
    w->pid = 0;
    assert_int_equal(WEXITSTATUS(status), 1);
}

#define WORLD(test) cmocka_unit_test_setup_teardown(test, set_up, tear_down)

int main(void)
{
    const struct CMUnitTest tests[] = {
        WORLD(test_objects),
        WORLD(test_memory_of_parallel_parts),
        WORLD(test_killed_while_it_takes_parts),
        WORLD(test_a_full_volume),
        WORLD(test_who_may_come),
        WORLD(test_certificates_come_and_change),
        WORLD(test_one_reads_beside_one_that_writes),
        WORLD(test_one_store_after_the_other),
        WORLD(test_a_volume_that_cannot_be_used),
        WORLD(test_words_that_are_wrong),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
