/* SPDX-License-Identifier: Apache-2.0 */
#include "common/base.h"

#include "agent/tests/agent_rig.h"

#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <grp.h>
#include <linux/fs.h>
#include <pwd.h>
#include <sched.h>
#include <setjmp.h>
#include <signal.h>
#include <sys/ioctl.h>
#include <sys/mount.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>
#include <cmocka.h>

#include "agent/bootstrap/server_binary.h"
#include "common/agent_api.h"
#include "common/alloc.h"
#include "common/clock.h"
#include "common/fs.h"
#include "common/strvec.h"
#include "common/subprocess.h"
#include "common/tests/port_util.h"
#include "common/tls.h"

#define RIG_USER "mysql"
#define POLL_MS 20
/* In the other root file system; the loader must be named by the folder in which libraries find it again. */

bool agent_rig_possible(void)
{
    _cleanup_(freep) char *server = server_binary_search("mariadbd");
    _cleanup_(freep) char *client = server_binary_search("mariadb");
    _cleanup_(freep) char *curl = server_binary_search("curl");

    if (geteuid() != 0)
        printf("skipped: needs root\n");
    else if (!server || !client || !curl)
        printf("skipped: needs mariadbd, mariadb and curl\n");
    else if (!getpwnam(RIG_USER))
        printf("skipped: needs the user \"" RIG_USER "\"\n");
    else
        return true;
    return false;
}

const char *agent_rig_path(const struct agent_rig *rig, const char *name)
{
    static char buffers[8][512];
    static unsigned next;
    char *buffer = buffers[next++ % ARRAY_LEN(buffers)];

    snprintf(buffer, sizeof(buffers[0]), "%s/%s", rig->dir, name);
    return buffer;
}

static void own(const struct agent_rig *rig, const char *path)
{
    assert_int_equal(chown(path, rig->uid, rig->gid), 0);
}

void agent_rig_put(const struct agent_rig *rig, const char *name, const char *content)
{
    const char *path = agent_rig_path(rig, name);

    if (!content) {
        assert_int_equal(fs_remove_all(path, NULL), 0);
        return;
    }
    assert_int_equal(fs_write_file_atomic(path, content, strlen(content), 0600, NULL), 0);
    own(rig, path);
}

void agent_rig_put_instance(const struct agent_rig *rig, unsigned replicas)
{
    _cleanup_(freep) char *text = xasprintf(
        "{\"namespace\":\"ns\",\"cluster\":\"demo\",\"clusterUID\":\"u-1\",\"serviceDomain\":\"demo-mysql.ns.svc\","
        "\"serverIdBase\":1000,\"replicas\":%u,\"database\":\"app_db\",\"username\":\"app\"}",
        replicas);

    agent_rig_put(rig, "config/instance.json", text);
}

bool agent_rig_has(const struct agent_rig *rig, const char *name)
{
    return fs_exists(agent_rig_path(rig, name));
}

bool agent_rig_file_says(const struct agent_rig *rig, const char *name, const char *text)
{
    _cleanup_(strbuf_release) struct strbuf content;

    strbuf_init(&content, 16 * KM_MIB);
    return fs_read_file(agent_rig_path(rig, name), &content, NULL) == 0 && strstr(content.buf, text);
}

void agent_rig_put_certificates(struct agent_rig *rig)
{
    static const char *const names[] = {"localhost", NULL};
    int64_t now_ms = clock_realtime_ms();
    struct tls_cert_request request = {
        .common_name = "test-ca", .not_before_ms = now_ms - 60000, .not_after_ms = now_ms + 3600000};
    struct tls_keypair ca = {0};
    struct tls_keypair agent = {0};
    struct tls_keypair client = {0};

    assert_int_equal(tls_make_ca(&request, &ca, NULL), 0);
    request.dns_names = names;
    request.server_auth = request.client_auth = true;
    request.common_name = AGENT_COMMON_NAME;
    assert_int_equal(tls_issue(&ca, &request, &agent, NULL), 0);
    request.common_name = AGENT_OPERATOR_COMMON_NAME;
    assert_int_equal(tls_issue(&ca, &request, &client, NULL), 0);
    agent_rig_put(rig, "tls/ca.crt", ca.cert_pem);
    agent_rig_put(rig, "tls/tls.crt", agent.cert_pem);
    agent_rig_put(rig, "tls/tls.key", agent.key_pem);
    agent_rig_put(rig, "operator.crt", client.cert_pem);
    agent_rig_put(rig, "operator.key", client.key_pem);
    tls_keypair_release(&ca);
    tls_keypair_release(&agent);
    tls_keypair_release(&client);
}

static char *find_binary(void)
{
    char path[512];
    ssize_t len = readlink("/proc/self/exe", path, sizeof(path) - 1);

    assert_true(len > 0);
    path[len] = '\0';
    char *at = strstr(path, "/agent/tests/");
    assert_non_null(at);
    *at = '\0';
    return xasprintf("%s/kube-mysql-agent", path);
}

struct agent_rig *agent_rig_new(void)
{
    return agent_rig_new_in(NULL);
}

char *agent_rig_mysql_root(void)
{
    static const char *const argv[] = {"agent/tests/mysql-root.sh", NULL};
    const char *root = getenv("KM_TEST_MYSQL_ROOT");
    struct subprocess_options options = {.argv = argv, .timeout_ms = 120000};
    struct subprocess_result result;
    struct error err = ERROR_INIT;
    struct strbuf out;

    if (root)
        return xstrdup(root);
    strbuf_init(&out, 4096);
    if (subprocess_run(&options, &out, NULL, &result, &err) < 0) {
        printf("skipped: no MySQL: %s\n", err.message);
        strbuf_release(&out);
        return NULL;
    }
    strbuf_truncate(&out, strcspn(out.buf, "\n"));
    return strbuf_detach(&out, NULL);
}

static const char has_option[] =
    "PATH=$PATH:/usr/sbin:/usr/libexec:/usr/local/mysql/bin:/opt/mariadb-11.4/bin chroot \"${0:-/}\" mariadbd --no-defaults --verbose --help 2> /dev/null "
    "| grep -q \"^$1 \"";

bool agent_rig_server_has_option(const char *option)
{
    const char *argv[] = {"sh", "-c", has_option, str_or_empty(getenv("KM_TEST_MARIADB_ROOT")), option, NULL};
    struct subprocess_options options = {.argv = argv, .timeout_ms = 30000};
    struct subprocess_result result;

    return subprocess_run(&options, NULL, NULL, &result, NULL) == 0;
}

static void choose_user(struct agent_rig *rig)
{
    _cleanup_(freep) char *path = xasprintf("%s/etc/passwd", rig->root ? rig->root : "");
    FILE *file = fopen(path, "re");

    assert_non_null(file);
    for (struct passwd *user; (user = fgetpwent(file));) {
        if (!str_eq(user->pw_name, RIG_USER))
            continue;
        rig->uid = user->pw_uid;
        rig->gid = user->pw_gid;
    }
    fclose(file);
    assert_int_not_equal(rig->uid, 0);
}

#define VOLUME_MIB "KM_TEST_VOLUME_MIB"
#define CLIENT_MS 30000
#define VOLUME_IS_DISK "KM_TEST_VOLUME_IS_DISK" /* on a loop device */

bool agent_rig_volumes_of(unsigned mib)
{
    char dir[] = "/tmp/km-mount-XXXXXX", text[16];

    assert_non_null(mkdtemp(dir));
    bool mounts = mount("tmpfs", dir, "tmpfs", 0, "size=1m") == 0;
    if (mounts)
        umount2(dir, MNT_DETACH);
    else
        printf("skipped: nothing can be mounted here\n");
    rmdir(dir);
    snprintf(text, sizeof(text), "%u", mib);
    return mounts && setenv(VOLUME_MIB, text, 1) == 0;
}

bool agent_rig_disks_of(unsigned mib)
{
    bool has_disks = access("/dev/loop-control", F_OK) == 0 && access("/sbin/mkfs.ext4", X_OK) == 0;

    if (!has_disks)
        printf("skipped: there are no loop devices, or no mkfs.ext4\n");
    return has_disks && agent_rig_volumes_of(mib) && setenv(VOLUME_IS_DISK, "1", 1) == 0;
}

static void run_tool(const char *const *argv)
{
    struct subprocess_options options = {.argv = argv, .timeout_ms = 30000};
    struct subprocess_result result;

    assert_int_equal(subprocess_run(&options, NULL, NULL, &result, NULL), 0);
}

static void mount_disk(struct agent_rig *rig, const char *mib)
{
    _cleanup_(freep) char *image = xasprintf("%s/vol.img", rig->dir);
    const char *volume = agent_rig_path(rig, "vol");
    const char *mkfs[] = {"/sbin/mkfs.ext4", "-q", "-F", image, NULL};
    const char *mounting[] = {"mount", "-o", "loop", image, volume, NULL};
    int fd = open(image, O_WRONLY | O_CREAT | O_CLOEXEC, 0600);

    assert_true(fd >= 0 && ftruncate(fd, (off_t)strtoul(mib, NULL, 10) * KM_MIB) == 0);
    close(fd);
    run_tool(mkfs);
    run_tool(mounting);
    assert_int_equal(chown(volume, rig->uid, rig->gid), 0);
    rig->own_volume = true;
}

pid_t agent_rig_freeze(const struct agent_rig *rig, unsigned seconds)
{
    int fd = open(agent_rig_path(rig, "vol"), O_RDONLY | O_DIRECTORY | O_CLOEXEC);

    assert_true(fd >= 0);
    pid_t pid = fork();
    assert_true(pid >= 0);
    if (pid == 0) {
        sleep(seconds);
        (void)ioctl(fd, FITHAW, 0);
        _exit(0);
    }
    assert_int_equal(ioctl(fd, FIFREEZE, 0), 0);
    close(fd);
    return pid;
}

void agent_rig_thaw(const struct agent_rig *rig, pid_t pid)
{
    int fd = open(agent_rig_path(rig, "vol"), O_RDONLY | O_DIRECTORY | O_CLOEXEC);

    assert_true(fd >= 0);
    (void)ioctl(fd, FITHAW, 0);
    close(fd);
    kill(pid, SIGKILL);
    waitpid(pid, NULL, 0);
}

static void mount_volume(struct agent_rig *rig)
{
    char options[64];
    const char *mib = getenv(VOLUME_MIB);

    if (!mib)
        return;
    if (getenv(VOLUME_IS_DISK)) {
        mount_disk(rig, mib);
        return;
    }
    snprintf(options, sizeof(options), "size=%sm,mode=0700,uid=%u,gid=%u", mib, rig->uid, rig->gid);
    assert_int_equal(mount("tmpfs", agent_rig_path(rig, "vol"), "tmpfs", 0, options), 0);
    rig->own_volume = true;
}

void agent_rig_resize_volume(const struct agent_rig *rig, unsigned mib)
{
    char options[64];

    assert_true(rig->own_volume);
    snprintf(options, sizeof(options), "size=%um", mib);
    assert_int_equal(mount("tmpfs", agent_rig_path(rig, "vol"), "tmpfs", MS_REMOUNT, options), 0);
}

struct agent_rig *agent_rig_new_in(const char *root)
{
    static const char *const folders[] = {"vol", "run", "config", "accounts", "tls"};
    static const char *const accounts[] = {"root", "replication", "monitor", "user"};
    struct agent_rig *rig = xnew(struct agent_rig);
    char dir[] = "/tmp/km-agent-XXXXXX";

    /* The servers run as another user, who may not write where the test's own files go. */
    assert_int_equal(setenv("TMPDIR", "/tmp", 1), 0);
    assert_non_null(mkdtemp(dir));
    rig->dir = xstrdup(dir);
    rig->mysql = root != NULL;
    rig->client_ms = CLIENT_MS;
    rig->root = xstrdup(root ? root : getenv("KM_TEST_MARIADB_ROOT"));
    choose_user(rig);
    own(rig, dir);
    for (size_t i = 0; i < ARRAY_LEN(folders); i++) {
        assert_int_equal(mkdir(agent_rig_path(rig, folders[i]), 0700), 0);
        own(rig, agent_rig_path(rig, folders[i]));
    }
    mount_volume(rig);
    rig->binary = find_binary();
    rig->pod_name = xstrdup("demo-mysql-2");
    rig->plain_port = free_port();
    rig->tls_port = free_port();
    rig->mysql_port = free_port();
    agent_rig_put_instance(rig, 1);
    agent_rig_put(rig, "config/my.cnf",
        "[mysqld]\nbind_address = 127.0.0.1\nskip_name_resolve = 1\ninnodb_buffer_pool_size = 32M\nlog_bin = binlog\n");
    for (size_t i = 0; i < ARRAY_LEN(accounts); i++) {
        _cleanup_(freep) char *name = xasprintf("accounts/%s", accounts[i]);
        _cleanup_(freep) char *password = xasprintf("pw-%s'\\", accounts[i]);
        agent_rig_put(rig, name, password);
    }
    agent_rig_put_certificates(rig);
    return rig;
}

void agent_rig_free(struct agent_rig *rig)
{
    if (!rig)
        return;
    agent_rig_kill(&rig->agent);
    agent_rig_kill(&rig->server);
    if (rig->own_volume)
        umount2(agent_rig_path(rig, "vol"), MNT_DETACH);
    if (!getenv("KEEP") && fs_remove_all(rig->dir, NULL) < 0)
        printf("%s is left\n", rig->dir);
    free(rig->dir);
    free(rig->binary);
    free(rig->pod_name);
    free(rig->root);
    free(rig->plugin_dir);
    free(rig);
}

/* ---- processes ---- */

/* The root file system with this machine's /tmp, and all of it at /host, where our program finds its libraries. */
static void enter(const struct agent_rig *rig)
{
    static const struct {
        const char *from, *to;
    } binds[] = {{"/tmp", "tmp"}, {"/", "host"}, {"/proc", "proc"}, {"/dev", "dev"}, {"/etc/hosts", "etc/hosts"}};
    char to[512];

    if (unshare(CLONE_NEWNS) < 0 || mount(NULL, "/", NULL, MS_REC | MS_PRIVATE, NULL) < 0)
        _exit(94);
    snprintf(to, sizeof(to), "%s/etc/hosts", rig->root);
    close(open(to, O_WRONLY | O_CREAT | O_CLOEXEC, 0644));
    for (size_t i = 0; i < ARRAY_LEN(binds); i++) {
        snprintf(to, sizeof(to), "%s/%s", rig->root, binds[i].to);
        if (mount(binds[i].from, to, NULL, MS_BIND | MS_REC, NULL) < 0)
            _exit(95);
    }
    snprintf(to, sizeof(to), "%s/usr/lib/mysql/plugin", rig->root);
    if (rig->plugin_dir && mount(rig->plugin_dir, to, NULL, MS_BIND, NULL) < 0)
        _exit(92);
    if (chroot(rig->root) < 0 || chdir("/") < 0)
        _exit(93);
}

/* A server's /tmp is its own, as a pod's is: MariaDB names temporary tables there after its process, which is the first
 * of its namespace in each rig, so two servers would take each other's. What it needs of this machine's /tmp stays. */
static void take_own_tmp(const struct agent_rig *rig)
{
    _cleanup_(freep) char *build = xasprintf("%.*s", (int)(strrchr(rig->binary, '/') - rig->binary), rig->binary);
    const char *const kept[] = {rig->dir, build, rig->plugin_dir};
    int fds[ARRAY_LEN(kept)];
    char from[64];

    if (unshare(CLONE_NEWNS) < 0 || mount(NULL, "/", NULL, MS_REC | MS_PRIVATE, NULL) < 0)
        _exit(91);
    for (size_t i = 0; i < ARRAY_LEN(kept); i++)
        fds[i] = kept[i] && str_starts_with(kept[i], "/tmp/") ? open(kept[i], O_PATH | O_DIRECTORY | O_CLOEXEC) : -1;
    if (mount("tmpfs", "/tmp", "tmpfs", 0, "mode=1777") < 0)
        _exit(90);
    for (size_t i = 0; i < ARRAY_LEN(kept); i++) {
        if (fds[i] < 0)
            continue;
        snprintf(from, sizeof(from), "/proc/self/fd/%d", fds[i]);
        if (fs_mkdir_all(kept[i], 0755, NULL) < 0 || mount(from, kept[i], NULL, MS_BIND | MS_REC, NULL) < 0)
            _exit(89);
    }
}

static void become(const struct agent_rig *rig, const char *command, char *const *argv)
{
    _cleanup_(freep) char *log = xasprintf("%s/%s.log", rig->dir, command);
    _cleanup_(freep) char *inside = xasprintf("/host%s-hosted", rig->binary); /* with its own loader and libraries */
    int fd = open(log, O_WRONLY | O_CREAT | O_APPEND, 0644);                  /* NOLINT(android-cloexec-open) */

    dup2(fd, STDOUT_FILENO);
    dup2(fd, STDERR_FILENO);
    if (str_eq(command, "server") || str_eq(command, "init"))
        take_own_tmp(rig);
    /* tmp_scout.h looks at the server there, by its number in its own namespace. */
    if (str_eq(command, "server") && mount("proc", "/proc", "proc", MS_NOSUID | MS_NODEV | MS_NOEXEC, NULL) < 0)
        _exit(88);
    if (rig->root)
        enter(rig);
    if (setgroups(0, NULL) < 0 || setgid(rig->gid) < 0 || setuid(rig->uid) < 0)
        _exit(98);
    prctl(PR_SET_PDEATHSIG, SIGKILL); /* here, as a change of the user clears it */
    if (!rig->root)
        execv(rig->binary, argv);
    execv(inside, argv);
    _exit(99);
}

static void build_argv(const struct agent_rig *rig, const char *command, struct strvec *argv)
{
    strvec_push(argv, rig->binary);
    strvec_push(argv, command);
    strvec_pushf(argv, "--data-volume=%s/vol", rig->dir);
    strvec_pushf(argv, "--run-dir=%s/run", rig->dir);
    strvec_pushf(argv, "--config-dir=%s/config", rig->dir);
    strvec_pushf(argv, "--accounts-dir=%s/accounts", rig->dir);
    strvec_pushf(argv, "--tls-dir=%s/tls", rig->dir);
    strvec_pushf(argv, "--termination-log=%s/termination", rig->dir);
    strvec_push(argv, "--bind=127.0.0.1");
    strvec_pushf(argv, "--plain-port=%u", rig->plain_port);
    strvec_pushf(argv, "--tls-port=%u", rig->tls_port);
    strvec_pushf(argv, "--mysql-port=%u", rig->mysql_port);
    strvec_pushf(argv, "--pod-name=%s", rig->pod_name);
    strvec_push(argv, "--pod-uid=" AGENT_RIG_POD_UID);
    strvec_push(argv, "--log-format=text");
    if (getenv(AGENT_RIG_TMP_MIB))
        strvec_pushf(argv, "--tmp-bytes=%llu", strtoull(getenv(AGENT_RIG_TMP_MIB), NULL, 10) * KM_MIB);
    if (str_eq(command, "store"))
        strvec_pushf(argv, "--directory=%s/vol", rig->dir);
}

/* A hook runs in the container whose end it holds up, all others in one of their own. */
static int enter_pid_namespace(const struct agent_rig *rig, const char *command)
{
    char path[64];

    if (!str_eq(command, "pre-stop") || rig->server.inner <= 0)
        return unshare(CLONE_NEWPID);
    snprintf(path, sizeof(path), "/proc/%d/ns/pid", (int)rig->server.inner);
    int fd = open(path, O_RDONLY | O_CLOEXEC);
    return fd < 0 ? -1 : setns(fd, CLONE_NEWPID);
}

/* A middle process makes the namespace and dies with its first process's exit status. What is killed is always that
 * first process; when the test itself is killed, both go, and the namespace with them. */
struct agent_process agent_rig_start(struct agent_rig *rig, const char *command)
{
    _cleanup_(strvec_release) struct strvec argv;
    int pipe_fds[2];
    pid_t inner = 0;

    strvec_init(&argv);
    build_argv(rig, command, &argv);
    assert_int_equal(pipe2(pipe_fds, O_CLOEXEC), 0);
    fflush(NULL);
    pid_t outer = fork();
    assert_true(outer >= 0);
    if (outer == 0) {
        prctl(PR_SET_PDEATHSIG, SIGKILL);
        if (enter_pid_namespace(rig, command) < 0)
            _exit(97);
        inner = fork();
        if (inner == 0)
            become(rig, command, argv.v);
        if (write(pipe_fds[1], &inner, sizeof(inner)) < 0)
            _exit(96);
        int status = 0;
        waitpid(inner, &status, 0);
        _exit(WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status));
    }
    close(pipe_fds[1]);
    assert_int_equal(read(pipe_fds[0], &inner, sizeof(inner)), sizeof(inner));
    close(pipe_fds[0]);
    struct agent_process process = {.inner = inner, .outer = outer};
    if (str_eq(command, "server"))
        rig->server = process;
    if (str_eq(command, "run"))
        rig->agent = process;
    return process;
}

int agent_rig_wait(struct agent_process *process)
{
    int status = 0;

    waitpid(process->outer, &status, 0);
    *process = (struct agent_process){0};
    return WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
}

void agent_rig_kill(struct agent_process *process)
{
    if (process->inner <= 0)
        return;
    kill(process->inner, SIGKILL);
    agent_rig_wait(process);
}

pid_t agent_rig_kill_at(const struct agent_rig *rig, const char *calls, const char *file)
{
    char pid[16];
    _cleanup_(freep) char *trace = xasprintf("trace=%s", calls);
    _cleanup_(freep) char *inject = xasprintf("inject=%s:signal=KILL", calls);

    snprintf(pid, sizeof(pid), "%d", (int)rig->server.inner);
    if (access("/usr/bin/strace", X_OK) != 0)
        return 0;
    pid_t child = fork();
    assert_true(child >= 0);
    if (child == 0) {
        execl("/usr/bin/strace", "strace", "-f", "-qq", "-o", "/dev/null", "-p", pid, "-P", file, "-e", trace, "-e",
            inject, (char *)NULL);
        _exit(127);
    }
    usleep(1500 * 1000); /* it says nothing when it is attached */
    return child;
}

/* ---- doors ---- */

static int read_answer(int fd, struct strbuf *body)
{
    _cleanup_(strbuf_release) struct strbuf answer;
    char piece[4096];
    ssize_t len;
    int code = 0;

    strbuf_init(&answer, 4 * KM_MIB);
    while ((len = read(fd, piece, sizeof(piece))) > 0)
        strbuf_add(&answer, piece, (size_t)len);
    if (sscanf(answer.buf, "HTTP/1.1 %d", &code) != 1) /* NOLINT(cert-err34-c) */
        return 0;
    const char *end = strstr(answer.buf, "\r\n\r\n");
    if (body && end) {
        strbuf_reset(body);
        strbuf_adds(body, end + 4);
    }
    return code;
}

int agent_rig_get(const struct agent_rig *rig, const char *path, struct strbuf *body)
{
    struct sockaddr_in address = {
        .sin_family = AF_INET, .sin_port = htons(rig->plain_port), .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
    struct timeval timeout = {.tv_sec = 5};
    _cleanup_(freep) char *request = xasprintf("GET %s HTTP/1.1\r\nHost: a\r\nConnection: close\r\n\r\n", path);
    int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    int code = 0;

    setsockopt(fd, SOL_SOCKET, SO_RCVTIMEO, &timeout, sizeof(timeout));
    if (connect(fd, (struct sockaddr *)&address, sizeof(address)) == 0 &&
        write(fd, request, strlen(request)) == (ssize_t)strlen(request))
        code = read_answer(fd, body);
    close(fd);
    return code;
}

bool agent_rig_await(const struct agent_rig *rig, const char *path, int code, int64_t timeout_ms)
{
    int64_t end_ms = clock_monotonic_ms() + timeout_ms;

    while (agent_rig_get(rig, path, NULL) != code) {
        if (clock_monotonic_ms() > end_ms)
            return false;
        usleep(POLL_MS * 1000);
    }
    return true;
}

static int request(const struct agent_rig *rig, const char *identity, const char *method, const char *path,
    const char *post, struct strbuf *body)
{
    _cleanup_(strvec_release) struct strvec argv;
    struct subprocess_result result;

    strvec_init(&argv);
    strvec_push_all(&argv,
        (const char *const[]){
            "curl", "--silent", "--max-time", "30", "--write-out", "\n%{http_code}", "--cacert", NULL});
    strvec_push(&argv, agent_rig_path(rig, "tls/ca.crt"));
    if (identity) {
        strvec_push(&argv, "--cert");
        strvec_pushf(&argv, "%s.crt", agent_rig_path(rig, identity));
        strvec_push(&argv, "--key");
        strvec_pushf(&argv, "%s.key", agent_rig_path(rig, identity));
    }
    if (post) {
        strvec_push(&argv, "--request");
        strvec_push(&argv, method);
        strvec_push(&argv, "--data-binary");
        strvec_push(&argv, "@-");
    }
    strvec_pushf(&argv, "https://localhost:%u%s", rig->tls_port, path);
    struct subprocess_options options = {.argv = (const char *const *)argv.v,
        .stdin_data = post,
        .stdin_len = post ? strlen(post) : 0,
        .timeout_ms = 40000};
    strbuf_reset(body);
    (void)(subprocess_run(&options, body, NULL, &result, NULL) == 0);
    const char *code = strrchr(body->buf, '\n');
    return code ? (int)strtol(code + 1, NULL, 10) : 0;
}

int agent_rig_tls(
    const struct agent_rig *rig, const char *identity, const char *path, const char *post, struct strbuf *body)
{
    return request(rig, identity, "POST", path, post, body);
}

int agent_rig_order(const struct agent_rig *rig, const char *order, struct strbuf *body)
{
    return agent_rig_order_as(rig, "operator", order, body);
}

int agent_rig_restore(const struct agent_rig *rig, const char *task, struct strbuf *body)
{
    return request(rig, "operator", "PUT", "/v1/restore", task, body);
}

int agent_rig_archive(const struct agent_rig *rig, const char *identity, const char *task, struct strbuf *body)
{
    return request(rig, identity, task ? "PUT" : "DELETE", "/v1/archive", task ? task : "", body);
}

int agent_rig_check(const struct agent_rig *rig, const char *identity, const char *task, struct strbuf *body)
{
    return request(rig, identity, task ? "PUT" : "DELETE", "/v1/check", task ? task : "", body);
}

int agent_rig_purge(const struct agent_rig *rig, const char *identity, const char *wish, struct strbuf *body)
{
    _cleanup_(freep) char *text = xasprintf("{\"wish\":\"%s\"}", wish);

    return request(rig, identity, "PUT", "/v1/binlogs/purge", text, body);
}

int agent_rig_order_as(const struct agent_rig *rig, const char *identity, const char *order, struct strbuf *body)
{
    return request(rig, identity, "PUT", "/v1/role", order, body);
}

int agent_rig_order_to(const struct agent_rig *rig, const char *query, const char *order, struct strbuf *body)
{
    _cleanup_(freep) char *path = xasprintf("/v1/role?%s", query);

    return request(rig, "operator", "PUT", path, order, body);
}

bool agent_rig_ended(struct agent_process *process, int *ret_code)
{
    int status = 0;

    if (waitpid(process->outer, &status, WNOHANG) != process->outer)
        return false;
    *process = (struct agent_process){0};
    *ret_code = WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
    return true;
}

/* As the operator would: a database is kept, an empty volume gets a new one. */
int agent_rig_init(struct agent_rig *rig)
{
    struct agent_process process = agent_rig_start(rig, "init");
    const char *order = agent_rig_has(rig, "vol/data/ibdata1") ? "{\"epoch\":1,\"seed\":\"keep\"}"
                                                               : "{\"epoch\":1,\"seed\":\"initialise\"}";
    _cleanup_(strbuf_release) struct strbuf body;
    int code = -1;
    int answer = 0;

    strbuf_init(&body, KM_MIB);
    while (!agent_rig_ended(&process, &code) && (answer = agent_rig_order(rig, order, &body)) != 200) {
        assert_int_equal(answer, 0); /* the door is not open yet; a refusal would stay one */
        usleep(POLL_MS * 1000);
    }
    return process.outer ? agent_rig_wait(&process) : code;
}

bool agent_rig_await_status(const struct agent_rig *rig, const char *contains, int64_t timeout_ms)
{
    _cleanup_(strbuf_release) struct strbuf body;
    int64_t end_ms = clock_monotonic_ms() + timeout_ms;

    strbuf_init(&body, KM_MIB);
    while (agent_rig_tls(rig, "operator", "/v1/status", NULL, &body) != 200 || !strstr(body.buf, contains)) {
        if (clock_monotonic_ms() > end_ms) {
            printf("last status: %s\n", body.buf);
            return false;
        }
        usleep(POLL_MS * 1000);
    }
    return true;
}

/* way: lines of an option file. */
/* Several processes of a test may run a client at a time, each as another user. */
static bool run_client(const struct agent_rig *rig, const char *way, const char *user, const char *password,
    const char *sql, struct strbuf *out)
{
    _cleanup_(freep) char *name = xasprintf("client-%d.cnf", (int)getpid());
    _cleanup_(freep) char *defaults = xasprintf("--defaults-file=%s", agent_rig_path(rig, name));
    _cleanup_(strbuf_release) struct strbuf cnf;
    const char *argv[] = {"mariadb", defaults, "--batch", "--skip-column-names", NULL};
    struct subprocess_options options = {
        .argv = argv, .stdin_data = sql, .stdin_len = strlen(sql), .timeout_ms = rig->client_ms};
    struct subprocess_result result;

    strbuf_init(&cnf, 4096);
    strbuf_addf(&cnf, "[client]\n%suser=%s\npassword=\"", way, user);
    for (const char *c = password; *c; c++)
        strbuf_addf(&cnf, "%s%c", *c == '\\' ? "\\" : "", *c);
    strbuf_adds(&cnf, "\"\n");
    agent_rig_put(rig, name, cnf.buf);
    if (out)
        strbuf_reset(out);
    bool ran = subprocess_run(&options, out, NULL, &result, NULL) == 0;
    unlink(agent_rig_path(rig, name));
    return ran;
}

bool agent_rig_sql(
    const struct agent_rig *rig, const char *user, const char *password, const char *sql, struct strbuf *out)
{
    _cleanup_(freep) char *way = xasprintf("protocol=tcp\nhost=127.0.0.1\nport=%u\nssl\n", rig->mysql_port);

    return run_client(rig, way, user, password, sql, out);
}

bool agent_rig_socket_sql(
    const struct agent_rig *rig, const char *user, const char *password, const char *sql, struct strbuf *out)
{
    _cleanup_(freep) char *way = xasprintf("protocol=socket\nsocket=%s\n", agent_rig_path(rig, "run/mysqld.sock"));

    return run_client(rig, way, user, password, sql, out);
}

static const char enter_and_run[] =
    "mount --bind /tmp $0/tmp && PATH=$PATH:/usr/local/mysql/bin:/opt/mariadb-11.4/bin exec chroot --userspec=$3 $0 $2 "
    "--no-defaults --batch --skip-column-names $1 --user=" RIG_USER;

#define SET_UID "--reuid=" RIG_USER
#define SET_GID "--regid=" RIG_USER
#define AS_USER "--user=" RIG_USER

bool agent_rig_owner_sql(const struct agent_rig *rig, const char *sql, struct strbuf *out)
{
    _cleanup_(freep) char *socket = xasprintf("--socket=%s", agent_rig_path(rig, "run/mysqld.sock"));
    const char *argv[] = {"setpriv", SET_UID, SET_GID, "--clear-groups", "mariadb", "--no-defaults", "--batch",
        "--skip-column-names", socket, AS_USER, NULL};
    const char *client = rig->mysql ? "mysql" : "mariadb";
    _cleanup_(freep) char *ids = xasprintf("%u:%u", rig->uid, rig->gid);
    const char *inside[] = {"unshare", "--mount", "sh", "-c", enter_and_run, rig->root, socket, client, ids, NULL};
    struct subprocess_options options = {
        .argv = rig->root ? inside : argv, .stdin_data = sql, .stdin_len = strlen(sql), .timeout_ms = rig->client_ms};
    struct subprocess_result result;

    if (out)
        strbuf_reset(out);
    return subprocess_run(&options, out, NULL, &result, NULL) == 0;
}

bool agent_rig_add_servers(const struct agent_rig *rig, unsigned count)
{
    _cleanup_(strbuf_release) struct strbuf sql;

    strbuf_init(&sql, KM_MIB);
    for (unsigned i = 0; i < count; i++)
        strbuf_addf(&sql, "SET GTID_NEXT = '%08x-71ca-11e1-9e33-c80aa9429562:1'; BEGIN; COMMIT;", i);
    return agent_rig_owner_sql(rig, sql.buf, NULL);
}
