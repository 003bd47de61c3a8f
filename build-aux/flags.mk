# SPDX-License-Identifier: Apache-2.0
# Compiler and linker flags. Set from outside: CC, BUILD, SANITIZE (address | thread | fuzzer), LINK (shared | static),
# WERROR (1 | 0), EXTRA_CFLAGS, SYSROOT (a root file system whose headers and libraries are used) with SYSROOT_LIBS (where its
# libraries lie at run time). Objects are rebuilt when any of these changes (see $(BUILD)/flags in the Makefile).

SANITIZE  ?= plain
CSTD      := -std=gnu17
VERSION   := $(strip $(file < VERSION))
CPPFLAGS  := -I. -D_GNU_SOURCE -DKM_VERSION=\"$(VERSION)\"
WARNINGS  := -Wall -Wextra -Wshadow -Wstrict-prototypes -Wmissing-prototypes -Wpointer-arith -Wwrite-strings -Wvla \
             -Wformat=2 -Wundef
WERROR    ?= 1
ifeq ($(findstring clang,$(CC)),)
# Messages are cut on purpose, names are checked before they are composed; gcc sees the sizes of arrays only.
WARNINGS  += -Wno-format-truncation
# gcc's flow analysis is documented to give false alarms in instrumented code; the plain build has the say.
WARNINGS  += $(if $(filter-out plain,$(SANITIZE)),-Wno-maybe-uninitialized)
endif
ifeq ($(WERROR),1)
WARNINGS  += -Werror
endif

is_x86    := $(filter x86_64-%,$(shell $(CC) -dumpmachine))
HARDENING := -fstack-protector-strong -fstack-clash-protection $(if $(is_x86),-fcf-protection)
LD_HARDENING := -Wl,-z,relro,-z,now -Wl,-z,noexecstack

OPT_plain   := -O2 -g -D_FORTIFY_SOURCE=2
OPT_address := -O1 -g -fno-omit-frame-pointer -fsanitize=address,undefined -fno-sanitize-recover=all
OPT_thread  := -O1 -g -fno-omit-frame-pointer -fsanitize=thread
OPT_fuzzer  := -O1 -g -fno-omit-frame-pointer -fsanitize=fuzzer-no-link,address,undefined -fno-sanitize-recover=all

LINK      ?= shared
ifeq ($(OPT_$(SANITIZE)),)
$(error SANITIZE=$(SANITIZE) is not one of: address thread fuzzer)
endif

CFLAGS_ALL  = $(CSTD) $(OPT_$(SANITIZE)) $(HARDENING) -fPIE $(WARNINGS) $(EXTRA_CFLAGS)
LDFLAGS_ALL = $(filter -fsanitize% -fno-sanitize%,$(OPT_$(SANITIZE))) $(LD_HARDENING) $(LD_$(LINK)) $(EXTRA_LDFLAGS)
LD_shared  := -pie -Wl,--as-needed
# Our libcurl comes first: the paths of other libraries' .pc files would find Debian's. --no-warnings silences one known
# thing: dlopen and the name-service functions, of which glibc has the resolvers "files" and "dns" inside (2.34 and later).
# The map says which archives went in: images/linked.sh.
LD_static   = -static-pie -Wl,-Map=$@.map -Wl,--gc-sections,--no-warnings -s -L$(STATIC_PREFIX)/lib

# Libraries. The operator links no MySQL client. libmariadb is Debian's client, mysqlclient Oracle's.
PKG_CONFIG ?= pkg-config
# On a bare machine targets that install it, or compile nothing here, do not complain that it is missing.
ifeq ($(or $(filter-out help deps demo demo-clean cluster-% clean,$(or $(MAKECMDGOALS),all)),$(shell command -v $(PKG_CONFIG) 2> /dev/null)),)
PKG_CONFIG := true
endif
ifeq ($(LINK),static)
# libcurl without its 30 friends: see build-aux/static-libs.sh.
STATIC_PREFIX := $(shell CC='$(CC)' build-aux/static-libs.sh --print-prefix)
pkg_env := PKG_CONFIG_PATH=$(STATIC_PREFIX)/lib/pkgconfig
pkg_static := --static
endif
ifneq ($(SYSROOT),)
pkg_env := PKG_CONFIG_SYSROOT_DIR=$(SYSROOT) PKG_CONFIG_LIBDIR=$(SYSROOT)/usr/lib/$(shell $(CC) -print-multiarch)/pkgconfig
CFLAGS_ALL  += --sysroot=$(SYSROOT)
LDFLAGS_ALL += -Wl,--dynamic-linker=$(SYSROOT_LIBS)/ld-linux-x86-64.so.2 -Wl,--disable-new-dtags,-rpath,$(SYSROOT_LIBS)
endif
PKG_COMMON := libcurl jansson libevent libevent_openssl libevent_pthreads openssl yaml-0.1 libzstd expat
PKG_MYSQL  := $(shell $(pkg_env) $(PKG_CONFIG) --exists libmariadb && echo libmariadb || echo mysqlclient)
pkg_cflags  = $(shell $(pkg_env) $(PKG_CONFIG) --cflags $(1))
pkg_libs    = $(shell $(pkg_env) $(PKG_CONFIG) $(pkg_static) --libs $(1))
