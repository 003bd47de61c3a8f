/* SPDX-License-Identifier: Apache-2.0 */
#include "common/base.h"

#include "agent/options.h"

#include <errno.h>

#include "agent/pod_uid.h"
#include "common/agent_api.h"

#define WAIT_SECONDS_DEFAULT 100

const char agent_options_help[] =
    "usage: kube-mysql-agent COMMAND [--option=value ...]\n"
    "\n"
    "  copy DIR   copy this program into DIR\n"
    "  init       write the server's configuration; make of the volume what the operator orders\n"
    "  check      tell whether this image takes the my.cnf; touches no data\n"
    "  server     become the server\n"
    "  run        watch and tend the server, answer on the agent's doors\n"
    "  pre-stop   wait until this member is not the primary any more\n"
    "  linger     wait until the server has ended\n"
    "  store      keep backups in a folder: S3's way to a volume\n"
    "  upload     standard input becomes a stored backup; the task comes on descriptor 3\n"
    "  download   a stored backup goes to standard output; likewise\n"
    "  replay     archived binary logs become relay logs in a folder; likewise\n"
    "  archive    one round of storing binary logs; likewise\n"
    "  copy-out   a copy that MySQL makes of its files goes to standard output\n"
    "  unpack     such a copy comes from standard input\n"
    "  check-data look through all tables; the task comes on standard input\n"
    "  version    say which version this is\n"
    "\n"
    "  --data-volume=DIR --run-dir=DIR --config-dir=DIR --accounts-dir=DIR --tls-dir=DIR\n"
    "  --termination-log=FILE --bind=ADDRESS --plain-port=N --tls-port=N --mysql-port=N --pod-name=NAME\n"
    "  --pod-uid=UID --wait-seconds=N --directory=DIR --max-bytes=N --tmp-bytes=N\n"
    "  --log-level=debug|info|warn|error --log-format=json|text\n";

enum option_key {
    OPT_VOLUME,
    OPT_RUN,
    OPT_CONFIG,
    OPT_ACCOUNTS,
    OPT_TLS,
    OPT_TERMINATION,
    OPT_BIND,
    OPT_PLAIN_PORT,
    OPT_TLS_PORT,
    OPT_MYSQL_PORT,
    OPT_POD_NAME,
    OPT_POD_UID,
    OPT_WAIT,
    OPT_DIRECTORY,
    OPT_MAX_BYTES,
    OPT_TMP_BYTES,
    OPT_LOG_LEVEL,
    OPT_LOG_FORMAT,
    OPT_COUNT,
};

static const char *const option_names[OPT_COUNT] = {
    [OPT_VOLUME] = "--data-volume=",
    [OPT_RUN] = "--run-dir=",
    [OPT_CONFIG] = "--config-dir=",
    [OPT_ACCOUNTS] = "--accounts-dir=",
    [OPT_TLS] = "--tls-dir=",
    [OPT_TERMINATION] = "--termination-log=",
    [OPT_BIND] = "--bind=",
    [OPT_PLAIN_PORT] = "--plain-port=",
    [OPT_TLS_PORT] = "--tls-port=",
    [OPT_MYSQL_PORT] = "--mysql-port=",
    [OPT_POD_NAME] = "--pod-name=",
    [OPT_POD_UID] = "--pod-uid=",
    [OPT_WAIT] = "--wait-seconds=",
    [OPT_DIRECTORY] = "--directory=",
    [OPT_MAX_BYTES] = "--max-bytes=",
    [OPT_TMP_BYTES] = "--tmp-bytes=",
    [OPT_LOG_LEVEL] = "--log-level=",
    [OPT_LOG_FORMAT] = "--log-format=",
};

static const char *const command_names[] = {
    [COMMAND_HELP] = "help",
    [COMMAND_VERSION] = "version",
    [COMMAND_COPY] = "copy",
    [COMMAND_INIT] = "init",
    [COMMAND_CHECK] = "check",
    [COMMAND_SERVER] = "server",
    [COMMAND_RUN] = "run",
    [COMMAND_PRE_STOP] = "pre-stop",
    [COMMAND_LINGER] = "linger",
    [COMMAND_UPLOAD] = "upload",
    [COMMAND_DOWNLOAD] = "download",
    [COMMAND_REPLAY] = "replay",
    [COMMAND_ARCHIVE] = "archive",
    [COMMAND_COPY_OUT] = "copy-out",
    [COMMAND_UNPACK] = "unpack",
    [COMMAND_CHECK_DATA] = "check-data",
    [COMMAND_STORE] = "store",
};

static bool parse_number(const char *text, long max, long *ret)
{
    char *end;

    errno = 0;
    long number = strtol(text, &end, 10);
    if (errno || end == text || *end || number < 0 || number > max)
        return false;
    *ret = number;
    return true;
}

static int parse_port(const char *text, uint16_t fallback, uint16_t *ret, struct error *err)
{
    long port = fallback;

    if (text && !parse_number(text, UINT16_MAX, &port))
        return error_set(err, ERROR_INVALID, "\"%s\" is no port", text);
    *ret = (uint16_t)port;
    return 0;
}

static int parse_seconds(const char *text, int *ret, struct error *err)
{
    long seconds = WAIT_SECONDS_DEFAULT;

    if (text && !parse_number(text, INT32_MAX, &seconds))
        return error_set(err, ERROR_INVALID, "\"%s\" is no number of seconds", text);
    *ret = (int)seconds;
    return 0;
}

static int parse_bytes(const char *text, uint64_t *ret, struct error *err)
{
    long bytes = 0;

    if (text && !parse_number(text, LONG_MAX, &bytes))
        return error_set(err, ERROR_INVALID, "\"%s\" is no number of bytes", text);
    *ret = (uint64_t)bytes;
    return 0;
}

static int parse_command(int argc, char **argv, struct agent_options *options, int *ret_next, struct error *err)
{
    if (argc < 2)
        return error_set(err, ERROR_INVALID, "a command is missing");
    *ret_next = 2;
    /* "--help" and "--version" are commands, too. */
    const char *word = str_eq(argv[1], "--help") || str_eq(argv[1], "--version") ? argv[1] + 2 : argv[1];
    for (unsigned i = 0; i < ARRAY_LEN(command_names); i++) {
        if (!str_eq(word, command_names[i]))
            continue;
        options->command = (enum agent_command)i;
        if (options->command != COMMAND_COPY)
            return 0;
        if (argc < 3)
            return error_set(err, ERROR_INVALID, "copy: a folder is missing");
        options->copy_dir = argv[2];
        *ret_next = 3;
        return 0;
    }
    return error_set(err, ERROR_INVALID, "unknown command \"%s\"", argv[1]);
}

static int collect(const char *arg, const char **values, struct error *err)
{
    for (unsigned i = 0; i < OPT_COUNT; i++) {
        if (str_starts_with(arg, option_names[i])) {
            values[i] = arg + strlen(option_names[i]);
            return 0;
        }
    }
    return error_set(err, ERROR_INVALID, "unknown option \"%s\"", arg);
}

static int convert(const char *const *values, struct agent_options *options, struct error *err)
{
    if (parse_port(values[OPT_PLAIN_PORT], AGENT_PORT_PLAIN, &options->plain_port, err) < 0 ||
        parse_port(values[OPT_TLS_PORT], AGENT_PORT_TLS, &options->tls_port, err) < 0 ||
        parse_port(values[OPT_MYSQL_PORT], MYSQL_PORT, &options->mysql_port, err) < 0 ||
        parse_seconds(values[OPT_WAIT], &options->wait_seconds, err) < 0 ||
        parse_bytes(values[OPT_MAX_BYTES], &options->max_bytes, err) < 0 ||
        parse_bytes(values[OPT_TMP_BYTES], &options->tmp_bytes, err) < 0 ||
        parse_bytes(getenv(AGENT_ENV_EPHEMERAL), &options->ephemeral_bytes, err) < 0)
        return -1;
    if (values[OPT_LOG_LEVEL] && log_level_parse(values[OPT_LOG_LEVEL], &options->log_level) < 0)
        return error_set(err, ERROR_INVALID, "unknown log level \"%s\"", values[OPT_LOG_LEVEL]);
    if (values[OPT_LOG_FORMAT] && log_format_parse(values[OPT_LOG_FORMAT], &options->log_format) < 0)
        return error_set(err, ERROR_INVALID, "unknown log format \"%s\"", values[OPT_LOG_FORMAT]);
    options->store_dir = values[OPT_DIRECTORY];
    options->bind = values[OPT_BIND] ? values[OPT_BIND] : "0.0.0.0";
    options->pod_name = values[OPT_POD_NAME] ? values[OPT_POD_NAME] : str_or_empty(getenv("POD_NAME"));
    return 0;
}

int agent_options_parse(int argc, char **argv, struct agent_options *ret, struct error *err)
{
    const char *values[OPT_COUNT] = {NULL};
    struct agent_options options = {.log_level = LOG_INFO, .log_format = LOG_FORMAT_JSON};
    int next = 2;

    if (parse_command(argc, argv, &options, &next, err) < 0)
        return -1;
    for (int i = next; i < argc; i++) {
        if (collect(argv[i], values, err) < 0)
            return -1;
    }
    if (convert(values, &options, err) < 0)
        return -1;
    agent_paths_init(&options.paths, values[OPT_VOLUME], values[OPT_RUN], values[OPT_CONFIG], values[OPT_ACCOUNTS],
        values[OPT_TLS], values[OPT_TERMINATION]);
    if (values[OPT_POD_UID])
        snprintf(options.pod_uid, sizeof(options.pod_uid), "%s", values[OPT_POD_UID]);
    else
        pod_uid_read(options.paths.run_dir, options.pod_uid);
    *ret = options;
    return 0;
}

bool agent_command_is_child(enum agent_command command)
{
    return command >= COMMAND_UPLOAD && command <= COMMAND_CHECK_DATA;
}

bool agent_command_is_tool(enum agent_command command)
{
    return command == COMMAND_COPY_OUT || command == COMMAND_UNPACK;
}

void agent_options_release(struct agent_options *options)
{
    agent_paths_release(&options->paths);
}
