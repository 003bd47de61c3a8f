/* SPDX-License-Identifier: Apache-2.0 */
#include "common/base.h"

#include "agent/backup/dump_command.h"

void dump_command(
    const struct server_version *version, const char *tool, const char *socket, const char *user, struct strvec *argv)
{
    /* What a server remembers of its own replication is not the data's: what is behind is told by the GTIDs. */
    static const char *const rest[] = {"--single-transaction", "--quick", "--set-gtid-purged=ON", "--all-databases",
        "--routines", "--events", "--triggers", "--hex-blob", "--default-character-set=utf8mb4",
        "--max-allowed-packet=1G", "--ignore-table=mysql.slave_worker_info", "--ignore-table=mysql.slave_master_info",
        "--ignore-table=mysql.slave_relay_log_info", NULL};

    strvec_push(argv, tool);
    strvec_push(argv, "--no-defaults");
    strvec_pushf(argv, "--socket=%s", socket);
    strvec_pushf(argv, "--user=%s", user);
    strvec_push(argv, version->number >= VERSION_NUMBER(8, 0, 26) ? "--source-data=2" : "--master-data=2");
    strvec_push_all(argv, rest);
}

void dump_command_mariadb(const char *tool, const char *socket, const char *user, struct strvec *argv)
{
    /* A replica's own position is not the data's. */
    static const char *const rest[] = {"--single-transaction", "--quick", "--master-data=2", "--gtid",
        "--all-databases", "--routines", "--events", "--triggers", "--hex-blob", "--default-character-set=utf8mb4",
        "--max-allowed-packet=1G", "--ignore-table=mysql.gtid_slave_pos", NULL};

    strvec_push(argv, tool);
    strvec_push(argv, "--no-defaults");
    strvec_pushf(argv, "--socket=%s", socket);
    strvec_pushf(argv, "--user=%s", user);
    strvec_push_all(argv, rest);
}
