#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""One server of OpenStack Swift, run from a folder of its own instead of /etc/swift and without a service manager.

    swift_server.py rings DIR IP ACCOUNT_PORT CONTAINER_PORT OBJECT_PORT    make the three rings: one device, one replica
    swift_server.py account|container|object|proxy DIR CONF                 run a server in the foreground

The proxy's pipeline uses LocalCache below instead of memcached.
"""
import os
import sys
import time

from swift.common import utils


class LocalCache:
    """What memcached would be asked for: a few hundred short values with a time to live, in this process."""

    def __init__(self):
        self.values = {}

    def get(self, key, *_args, **_kwargs):
        value, ends = self.values.get(key, (None, 0))
        return value if not ends or ends > time.time() else None

    def set(self, key, value, time=0, **_kwargs):  # the name is Swift's
        if len(self.values) > 10000:
            self.values.clear()
        self.values[key] = (value, time and now() + time)

    def delete(self, key, *_args, **_kwargs):
        self.values.pop(key, None)

    def incr(self, key, delta=1, time=0):
        value = (self.get(key) or 0) + delta
        self.set(key, value, time=time)
        return value


def now():
    return time.time()


def cache_factory(_conf, **_local_conf):
    cache = LocalCache()

    def make(app):
        def handle(env, start_response):
            env['swift.cache'] = cache
            return app(env, start_response)
        return handle
    return make


def make_rings(folder, ip, ports):
    from swift.common.ring import RingBuilder
    for name, port in zip(('account', 'container', 'object'), ports):
        builder = RingBuilder(4, 1, 1)
        builder.add_dev({'id': 0, 'region': 1, 'zone': 1, 'weight': 1.0, 'ip': ip, 'port': int(port),
                         'replication_ip': ip, 'replication_port': int(port), 'device': 'd1', 'meta': ''})
        builder.rebalance()
        builder.get_ring().save(os.path.join(folder, name + '.ring.gz.new'))
        os.rename(os.path.join(folder, name + '.ring.gz.new'), os.path.join(folder, name + '.ring.gz'))


def main(what, folder, *rest):
    utils.SWIFT_CONF_FILE = os.path.join(folder, 'swift.conf')  # before what reads it when it is imported
    if what == 'rings':
        make_rings(folder, rest[0], rest[1:])
        return 0
    sys.modules['km_swift_server'] = sys.modules['__main__']  # the name by which the pipeline finds cache_factory
    from swift.common.wsgi import run_wsgi
    if what == 'object':
        from swift.obj import server
        return run_wsgi(rest[0], 'object-server', verbose=True, global_conf_callback=server.global_conf_callback)
    return run_wsgi(rest[0], what + '-server', verbose=True)


if __name__ == '__main__':
    sys.exit(main(*sys.argv[1:]))
