# SPDX-License-Identifier: Apache-2.0
# kube-mysql: build, gates, local cluster. `make help` explains the targets.
# Sources are found by wildcard: a new .c file needs no change here. Flags and libraries: build-aux/flags.mk.

.DEFAULT_GOAL := all
.DELETE_ON_ERROR:
.SECONDARY:
.SUFFIXES:
MAKEFLAGS += --no-builtin-rules
SHELL := /bin/bash

BUILD ?= build
ifeq ($(origin CC),default)
CC := gcc
endif
FUZZ_SECONDS ?= 30
JOBS ?= $(shell nproc)
Q := $(if $(V),,@)
# V=1 shows commands, QUIET=1 shows nothing but problems.
say = $(if $(V)$(QUIET),@:,@printf '  %-7s %s\n' $(1) $(2))

include build-aux/flags.mk

# ---- what there is -------------------------------------------------------------------------------------------------

components := common operator agent
found  := $(sort $(shell find $(wildcard $(components)) /dev/null -name '*.c'))
headers := $(sort $(shell find $(wildcard $(components)) /dev/null -name '*.h'))
is_test = $(filter %,$(foreach f,$(1),$(if $(findstring /tests/,$(f)),$(f))))
is_fuzz = $(filter %,$(foreach f,$(1),$(if $(findstring /fuzz/,$(f)),$(f))))

test_files := $(call is_test,$(found))
fuzz_files := $(call is_fuzz,$(found))
sources    := $(filter-out $(test_files) $(fuzz_files),$(found))
of = $(filter $(1)/%,$(2))
obj = $(patsubst %.c,$(BUILD)/obj/%.o,$(1))

unit_src    := $(filter %_test.c,$(test_files))
itest_src   := $(filter %_itest.c,$(test_files))
helper_src  := $(filter-out $(unit_src) $(itest_src),$(test_files))
unit_bin    := $(patsubst %.c,$(BUILD)/%,$(unit_src))
itest_bin   := $(patsubst %.c,$(BUILD)/%,$(itest_src))
fuzz_bin    := $(patsubst %.c,$(BUILD)/%,$(filter %_fuzz.c,$(fuzz_files)))

programs := $(foreach c,operator agent,$(if $(wildcard $(c)/main.c),$(BUILD)/kube-mysql-$(c)))

# ---- compile -------------------------------------------------------------------------------------------------------

CFLAGS_PKG := $(call pkg_cflags,$(PKG_COMMON))
mysql_cflags := $(call pkg_cflags,$(PKG_MYSQL))

all: $(programs) $(foreach c,$(components),$(if $(call of,$(c),$(sources)),$(BUILD)/lib$(c).a))  ## Build the operator and the agent into $(BUILD)/

$(BUILD)/flags: FORCE
	@mkdir -p $(@D)
	@printf '%s\n' '$(CC) $(CPPFLAGS) $(CFLAGS_ALL) $(LDFLAGS_ALL) $(STATIC_PREFIX)' | cmp -s - $@ || \
	  printf '%s\n' '$(CC) $(CPPFLAGS) $(CFLAGS_ALL) $(LDFLAGS_ALL) $(STATIC_PREFIX)' > $@

$(BUILD)/sources-%: FORCE
	@mkdir -p $(@D)
	@printf '%s\n' '$(call of,$*,$(sources) $(helper_src))' | cmp -s - $@ || \
	  printf '%s\n' '$(call of,$*,$(sources) $(helper_src))' > $@

$(BUILD)/obj/%.o: %.c $(BUILD)/flags
	@mkdir -p $(@D)
	$(call say,CC,$<)
	$(Q)$(CC) $(CPPFLAGS) $(CFLAGS_PKG) $(cflags_here) $(CFLAGS_ALL) -MMD -MP -MT $@ -MT $(BUILD)/lint/$*.tidy -c $< -o $@

$(BUILD)/obj/agent/%.o: cflags_here = $(mysql_cflags)

# The programs know their commit, the libraries do not.
$(BUILD)/commit: FORCE
	@mkdir -p $(@D)
	@printf '%s\n' '$(COMMIT)' | cmp -s - $@ || printf '%s\n' '$(COMMIT)' > $@
COMMIT ?= $(shell git rev-parse --short=12 HEAD 2> /dev/null)
mains := $(foreach c,operator agent,$(BUILD)/obj/$(c)/main.o)
$(mains): $(BUILD)/commit
$(mains): CPPFLAGS += -DKM_COMMIT=\"$(COMMIT)\"

-include $(patsubst %.o,%.d,$(call obj,$(found)))

# Archives: the component's sources but main.c; the helpers of its tests (_double.c, _util.c and the like).
# The list of sources is a prerequisite, so that a removed file leaves the archive.
define archive
$(BUILD)/lib$(1).a: $(call obj,$(filter-out $(1)/main.c,$(call of,$(1),$(sources)))) $(BUILD)/sources-$(1)
$(BUILD)/lib$(1)-test.a: $(call obj,$(call of,$(1),$(helper_src))) $(BUILD)/sources-$(1)
endef
$(foreach c,$(components),$(eval $(call archive,$(c))))

$(BUILD)/lib%.a:
	@mkdir -p $(@D)
	$(call say,AR,$@)
	$(Q)rm -f $@ && $(AR) rcs $@ $(filter %.o,$^)

libs_common   := $(call pkg_libs,$(PKG_COMMON))
libs_operator := $(libs_common)
libs_agent    := $(call pkg_libs,$(PKG_MYSQL)) $(libs_common)

link = $(CC) $(CFLAGS_ALL) $(1) -Wl,--start-group $(2) -Wl,--end-group $(LDFLAGS_ALL) $(3) -o $@

$(BUILD)/kube-mysql-%: $(BUILD)/obj/%/main.o $(BUILD)/lib%.a $(BUILD)/libcommon.a
	$(call say,LD,$@)
	$(Q)$(call link,$<,$(filter %.a,$^),$(libs_$*))

# For tests in another root file system, where this machine's is /host: it starts itself (/proc/self/exe), so it must not need a loader's help.
hosted := $(BUILD)/kube-mysql-agent-hosted
hosted_libs := /host$(if $(SYSROOT),$(SYSROOT_LIBS),/lib/$(shell $(CC) -print-multiarch))
$(hosted): $(BUILD)/obj/agent/main.o $(BUILD)/libagent.a $(BUILD)/libcommon.a
	$(call say,LD,$@)
	$(Q)$(call link,$<,$(filter %.a,$^),$(libs_agent)) -Wl,--dynamic-linker=$(hosted_libs)/ld-linux-x86-64.so.2 \
	  -Wl,--disable-new-dtags,-rpath,$(hosted_libs)

# What the agent's image has beside the program: tests of databases with time zones find it beside the one that they start.
zones := $(BUILD)/zoneinfo.tar
$(zones): images/zoneinfo.sh
	$(call say,ZONES,$@)
	$(Q)images/zoneinfo.sh --archive $@

# ---- tests ---------------------------------------------------------------------------------------------------------

# It counts calls between files of the operator.
$(BUILD)/operator/tests/reconcile_count_test: private LDFLAGS_ALL += \
  $(foreach f,cluster_gather cluster_gather_again cluster_intend cluster_order \
    desired_spec_template_hash,-Wl,--wrap=$(f))

# Its server is a double.
$(BUILD)/agent/tests/probe_lane_test: private LDFLAGS_ALL += \
  $(foreach f,session_open session_exec session_close session_is_broken session_note_answers observe_server \
    replication_facts_observe,-Wl,--wrap=$(f))

# Calls of its file system fail.
$(BUILD)/agent/backup/tests/store_disk_test: private LDFLAGS_ALL += \
  $(foreach f,openat readdir fstatat fstat fstatvfs ftruncate fsync write,-Wl,--wrap=$(f))

define link_tests
$(patsubst %.c,$(BUILD)/%,$(call of,$(1),$(unit_src) $(itest_src))): $(BUILD)/%: $(BUILD)/obj/%.o \
    $(sort $(foreach c,common $(1),$(BUILD)/lib$(c)-test.a $(BUILD)/lib$(c).a))
	@mkdir -p $$(@D)
	$$(call say,LD,$$@)
	$$(Q)$$(call link,$$<,$$(filter %-test.a,$$^) $$(filter-out %-test.a,$$(filter %.a,$$^)),-lcmocka $$(libs_$(1)))
endef
$(foreach c,$(components),$(eval $(call link_tests,$(c))))

# They start the agent as a process of its own: one built before would be tested in its place.
$(filter $(BUILD)/agent/%,$(itest_bin)): | $(BUILD)/kube-mysql-agent $(hosted) $(zones)

objects: $(call obj,$(filter-out $(fuzz_files),$(found)))  ## Compile everything, tests included, and link nothing
unit-tests: $(unit_bin)
integration-tests: $(itest_bin) $(hosted) $(zones)

export KM_BUILD = $(abspath $(BUILD))
# They wait more than they compute (six seconds of waiting for one of processor time), under a sanitizer less so.
test_jobs = $(shell echo $$(($(JOBS) * $(if $(filter thread,$(SANITIZE)),1,$(if $(filter address,$(SANITIZE)),2,3)))))
run_tests = SANITIZE=$(SANITIZE) TEST_JOBS=$(test_jobs) build-aux/run-tests.sh

# Stories in which the operator dies after each of its acts in turn (operator/tests/world_copy.h): every third act, with FULL=1 or LONG=1 all.
crash_points = $(if $(FULL)$(LONG),,KM_CRASH_EVERY=3)

# UNIT_OF="agent common": only their tests.
unit_here = $(if $(UNIT_OF),$(filter $(UNIT_OF:%=$(BUILD)/%/%),$(unit_bin)),$(unit_bin))
check-unit: $(unit_here)  ## Build and run the unit tests
	$(Q)build-aux/tests/run-tests-test.sh
	$(Q)build-aux/tests/test-test.sh
	$(Q)build-aux/tests/tidy-test.sh
	$(Q)$(crash_points) $(run_tests) unit $(unit_here)

# t/common/strbuf: builds and runs common/tests/strbuf_test and nothing else; t/agent/bootstrap/datadir likewise.
t/%: FORCE
	$(Q)$(MAKE) --no-print-directory BUILD=$(BUILD) $(BUILD)/$(*D)/tests/$(*F)_test
	$(Q)V=1 $(run_tests) unit $(BUILD)/$(*D)/tests/$(*F)_test

check: check-unit check-layers check-circles check-texts check-headers check-size check-license check-version check-docs check-deploy  ## Unit tests, layers, headers, sizes, licence, version, manifests: the quick gates

check-deploy:  ## The reference page is what the CRDs say; the operator's pod fits the restricted profile; alerts and dashboards ask for metrics that exist; the chart is what the manifests say; uninstall.sh keeps stored backups; Argo CD's health script
	$(Q)build-aux/gen-reference.sh --check
	$(Q)deploy/tests/check-restricted-test.sh
	$(Q)deploy/tests/check-queries-test.sh
	$(Q)deploy/helm/generate.sh --check
	$(Q)deploy/tests/chart-generate-test.sh
	$(Q)deploy/tests/install-test.sh
	$(Q)deploy/tests/uninstall-test.sh
	$(Q)deploy/tests/argocd-health-test.sh

check-chart:  ## What helm makes of the chart is what kustomize makes of deploy/; values, refusals (builds helm once, where there is go)
	$(Q)deploy/tests/chart-test.sh

check-asan:  ## Unit tests under the address and undefined-behaviour sanitizers
	$(Q)$(MAKE) --no-print-directory BUILD=$(BUILD)/asan SANITIZE=address check-unit

# Only what has more than one thread, which is nothing of the operator's. The first two lines keep that true.
check-tsan:  ## The unit tests with threads in them, under the thread sanitizer
	$(Q)! grep -rlE 'common/worker\.h|pthread\.h' operator
	$(Q)! grep -rlE 'pthread_create|thrd_create' --include=*.c agent common | grep -v '^common/worker\.c$$'
	$(Q)$(MAKE) --no-print-directory BUILD=$(BUILD)/tsan SANITIZE=thread UNIT_OF="agent common" check-threads

check-threads: $(unit_here)
	$(Q)build-aux/with-threads.sh $(unit_here) > $(BUILD)/with-threads
	$(Q)$(run_tests) unit $$(cat $(BUILD)/with-threads)

# CORE=1, which a plain `make test` says: without those whose source has a line "/* full: WHY */".
itest_left_out = $(if $(CORE),$(shell grep -l '^/\* full:' $(itest_src)))
check-integration: all $(itest_bin) $(hosted) $(zones)  ## Tests against real servers and the light control plane (*_itest.c)
	$(Q)SANITIZE=$(SANITIZE) build-aux/run-integration.sh $(filter-out $(patsubst %.c,$(BUILD)/%,$(itest_left_out)),$(itest_bin))

server_tests := $(foreach t,agent_init made_mariadb made_mysql seed failover_mariadb relay_mariadb healing_mariadb old_mysql,$(BUILD)/agent/tests/$(t)_itest)
check-servers: all $(server_tests) $(hosted) $(zones)  ## The agent's tests on other servers: SERVERS="mariadb-10.5 mariadb-11.4 mariadb-11.8 mysql-5.6 layout-opt layout-libexec layout-mysql" (mariadb-11.8)
	$(Q)SERVERS='$(SERVERS)' build-aux/run-servers.sh $(server_tests)

check-libmysqlclient:  ## The agent built with Oracle's client library, and its tests that talk to servers
	$(Q)BUILD=$(BUILD) JOBS=$(JOBS) build-aux/run-libmysqlclient.sh

check-integration-asan:  ## The integration tests under the address sanitizer
	$(Q)$(MAKE) --no-print-directory BUILD=$(BUILD)/asan SANITIZE=address check-integration

check-faults: all  ## Every API call failing in turn, the operator killed after every write
	$(Q)build-aux/script.sh e2e/faults/run.sh

faults: all  ## Faults on real servers: CASE=name or OVERLAP=12 (faults that overlap), COUNT=1 FLAVOUR=mariadb|mysql, BED=real: in pods (docs/faults.md)
	$(Q)BUILD=$(BUILD) CASE='$(CASE)' COUNT='$(COUNT)' FLAVOUR='$(FLAVOUR)' MODE='$(MODE)' OVERLAP='$(OVERLAP)' MEMBERS='$(MEMBERS)' SEED='$(SEED)' SPOIL='$(SPOIL)' \
	  build-aux/script.sh e2e/faults/$(or $(BED),bed)/run.sh

fuzz:  ## Run every fuzzer for FUZZ_SECONDS (30) with clang
	$(Q)$(MAKE) --no-print-directory BUILD=$(BUILD)/fuzz CC=clang SANITIZE=fuzzer run-fuzzers

define link_fuzzers
$(patsubst %.c,$(BUILD)/%,$(call of,$(1),$(filter %_fuzz.c,$(fuzz_files)))): $(BUILD)/%: $(BUILD)/obj/%.o \
    $(sort $(foreach c,common $(1),$(BUILD)/lib$(c).a))
	@mkdir -p $$(@D)
	$$(call say,LD,$$@)
	$$(Q)$$(call link,$$<,$$(filter %.a,$$^),-fsanitize=fuzzer $$(libs_$(1)))
endef
$(foreach c,$(components),$(eval $(call link_fuzzers,$(c))))

run-fuzzers: $(fuzz_bin)
	$(Q)FUZZ_SECONDS=$(FUZZ_SECONDS) build-aux/run-fuzzers.sh $(fuzz_bin)

# ---- simulation ----------------------------------------------------------------------------------------------------

# Both components and the models around them in one process: docs/simulation.md.
simulation_src := $(sort $(wildcard e2e/simulation/*.c))
simulation := $(BUILD)/simulate
$(BUILD)/obj/e2e/simulation/%.o: cflags_here = $(mysql_cflags)
-include $(patsubst %.o,%.d,$(call obj,$(simulation_src)))
$(simulation): $(call obj,$(simulation_src)) $(BUILD)/liboperator.a $(BUILD)/libagent.a $(BUILD)/libcommon.a
	$(call say,LD,$@)
	$(Q)$(call link,$(filter %.o,$^),$(filter %.a,$^),$(libs_agent))

simulate: $(simulation)  ## Faults in a simulation, in virtual time: SEED=1 COUNT=1000 FLAVOUR=mysql|mariadb MEMBERS=3 FAULTS=20 (docs/simulation.md)
	$(Q)$(simulation) --seed=$(or $(SEED),1) --count=$(or $(COUNT),1000) $(if $(FLAVOUR),--family=$(FLAVOUR)) \
	  $(if $(MEMBERS),--members=$(MEMBERS)) $(if $(FAULTS),--faults=$(FAULTS)) \
	  $(if $(STORY),--story)

check-simulate: $(simulation)  ## Every kept schedule, and 100 seconds of random ones (SIMULATE_SECONDS)
	$(Q)BUILD=$(BUILD) e2e/simulation/gate.sh $(SIMULATE_SECONDS)

# ---- gates over the source -----------------------------------------------------------------------------------------

check-layers:  ## Who includes whom, against the table in ARCHITECTURE.md
	$(Q)build-aux/check-layers.sh
	$(Q)build-aux/tests/check-layers-test.sh

check-circles:  ## Files of one folder do not call each other in a circle, but as build-aux/circles.txt says
	$(Q)build-aux/check-circles.py
	$(Q)build-aux/tests/check-circles-test.sh

check-texts:  ## The operator decides nothing by texts for people, but as build-aux/texts.txt says
	$(Q)build-aux/check-texts.py
	$(Q)build-aux/tests/check-texts-test.sh

# Most files include their own header right after common/base.h: that they compile shows that it does. The others are
# compiled by themselves.
headers_shown := $(shell awk 'FNR == 1 { n = 0 } /^[^a-z]include / && ++n == 1 && $$2 != "\"common/base.h\"" { nextfile } n == 2 { \
  header = FILENAME; sub(/c$$/, "h", header); if ($$2 == "\"" header "\"") print header; nextfile }' $(sources) $(helper_src))
headers_alone := $(filter-out $(headers_shown),$(headers))
check-headers: $(patsubst %.h,$(BUILD)/headers/%.ok,$(headers_alone)) \
    $(foreach c,$(components),$(if $(call of,$(c),$(headers)),$(BUILD)/lib$(c).a $(BUILD)/lib$(c)-test.a))  ## Every header compiles alone
	@echo "headers: $(words $(headers)) compile alone, $(words $(filter $(headers),$(headers_shown))) of them at the head of their own file"

$(BUILD)/headers/%.ok: %.h $(BUILD)/flags
	@mkdir -p $(@D)
	$(Q)printf '#include "common/base.h"\n#include "$<"\n' | $(CC) -x c $(CPPFLAGS) $(CFLAGS_PKG) $(mysql_cflags) \
	  $(CSTD) -O1 $(WARNINGS) -MMD -MP -MT $@ -MF $(@:.ok=.d) -fsyntax-only -
	@touch $@
-include $(patsubst %.h,$(BUILD)/headers/%.d,$(headers))

check-size:  ## Files up to 800 lines, functions up to 60, main.c up to 120; prints the distribution
	$(Q)build-aux/check-size.sh

check-docs:  ## Links of the documentation lead somewhere; what it tells people to type is run by story "docs", or says why not
	$(Q)e2e/docs/check.py
	$(Q)build-aux/tests/check-docs-test.sh

check-license:  ## Every source file names the licence; LICENSE is its text
	$(Q)build-aux/check-license.sh
	$(Q)build-aux/tests/check-license-test.sh

check-version:  ## Whatever spells the version out says what the file VERSION says
	$(Q)build-aux/check-version.sh
	$(Q)build-aux/tests/check-version-test.sh

formatted := $(found) $(headers)
format:  ## Run clang-format over the tree
	$(Q)$(if $(formatted),clang-format -i $(formatted),:)

format-check:  ## Fail if clang-format would change anything
	$(Q)$(if $(formatted),clang-format --dry-run --Werror $(formatted),:) && echo "format: $(words $(formatted)) files clean"

lint: lint-shell lint-c  ## clang-tidy, cppcheck, shellcheck (only what changed)

lint-shell:
	$(Q)build-aux/lint-shell.sh

lint-c: $(patsubst %.c,$(BUILD)/lint/%.tidy,$(found)) $(BUILD)/lint/cppcheck
	@mkdir -p "$${XDG_CACHE_HOME:-$$HOME/.cache}/kube-mysql/tidy"
	@find "$${XDG_CACHE_HOME:-$$HOME/.cache}/kube-mysql/tidy" -type f -mtime +30 -delete
	@echo "lint: $(words $(found)) C files clean"

# The prerequisites of the stamps (headers) come from the compiler's .d files. -fcf-protection and the like mean nothing here.
$(BUILD)/lint/%.tidy: %.c .clang-tidy
	@mkdir -p $(@D)
	$(call say,TIDY,$<)
	$(Q)build-aux/tidy.sh $< $(CPPFLAGS) $(CFLAGS_PKG) $(mysql_cflags) $(CSTD) -O1
	@touch $@

cppcheck_flags := --quiet -j $(JOBS) --std=c11 --language=c --enable=warning,performance,portability --inline-suppr \
  --suppressions-list=build-aux/cppcheck.suppress --error-exitcode=1 --max-configs=2 -I. -D_GNU_SOURCE -D__GNUC__=12 \
  --include=$(shell $(PKG_CONFIG) --variable=includedir jansson)/jansson.h
$(BUILD)/lint/cppcheck: $(found) $(headers) build-aux/cppcheck.suppress
	@mkdir -p $(@D)/cppcheck.d
	$(call say,CPPCHECK,'$(words $(found)) files')
	$(Q)$(if $(found),cppcheck $(cppcheck_flags) --cppcheck-build-dir=$(@D)/cppcheck.d $(found),:)
	@touch $@

compile_commands.json:  ## For editors and language servers (needs bear)
	$(Q)bear -- $(MAKE) BUILD=$(BUILD)/bear all unit-tests

# ---- static build and images ---------------------------------------------------------------------------------------

static:  ## Self-contained binaries in $(BUILD)/static (what images and the injected agent use)
	$(Q)CC='$(CC)' build-aux/static-libs.sh
	$(Q)$(MAKE) --no-print-directory BUILD=$(BUILD)/static LINK=static EXTRA_CFLAGS='-ffunction-sections -fdata-sections' all
	$(Q)build-aux/print-sizes.sh $(BUILD)/static/kube-mysql-{operator,agent}

images: static  ## OCI archives of operator and agent in $(BUILD)/images, without a Docker engine
	$(Q)BUILD=$(BUILD) images/build.sh
	$(Q)BUILD=$(BUILD) images/tests/content-test.sh

release:  ## Everything that a release has, in $(BUILD)/release, built on Debian 13: images for amd64 and arm64, install.yaml, chart, SBOMs, sources, checksums
	$(Q)BUILD=$(BUILD) build-aux/release.sh

# ---- local Kubernetes, deployment, demo ----------------------------------------------------------------------------

script = $(Q)BUILD=$(BUILD) build-aux/script.sh

deps:  ## Install what is missing to build, test and run (Debian 12, root)
	$(Q)build-aux/deps.sh
cluster-up:  ## A real local Kubernetes (NODES=1, KUBERNETES_VERSION=1.36.3)
	$(script) e2e/cluster/up.sh $(NODES)
cluster-down:  ## Stop it and clean up
	$(script) e2e/cluster/down.sh
cluster-status:  ## What is running
	$(script) e2e/cluster/status.sh
control-plane-up:  ## The light form: etcd, API server, controller manager, no kubelet
	$(script) e2e/cluster/control-plane.sh up
control-plane-down:  ## Stop the light form
	$(script) e2e/cluster/control-plane.sh down
deploy:  ## Install the operator into the cluster of KUBECONFIG (or the local one)
	$(script) deploy/install.sh
undeploy:  ## Remove it again
	$(script) deploy/uninstall.sh
e2e: images  ## End-to-end stories on the real cluster (STORIES="a b" for some, KUBERNETES_VERSION=1.30.14 on another version)
	$(script) e2e/run.sh $(STORIES)
conformance:  ## Whether a server's image works, on the cluster of KUBECONFIG: IMAGE=mysql:8.4 [IMAGE_OPERATOR= IMAGE_AGENT= RUN_AS_USER= STORAGE_CLASS=]
	$(Q)BUILD=$(BUILD) IMAGE_OPERATOR='$(IMAGE_OPERATOR)' IMAGE_AGENT='$(IMAGE_AGENT)' RUN_AS_USER='$(RUN_AS_USER)' STORAGE_CLASS='$(STORAGE_CLASS)' \
	  build-aux/script.sh e2e/conformance.sh $(IMAGE)
bench:  ## Benchmarks, each prints a ratio (NAME=name for one)
	$(script) e2e/bench/run.sh $(NAME)
demo:  ## From nothing to a database and a query, explained line by line
	$(script) e2e/demo.sh
demo-clean:  ## Undo the demo
	$(script) e2e/demo-clean.sh

# ---- the whole -----------------------------------------------------------------------------------------------------

test:  ## Whether it builds and works here; FULL=1 all that CI runs, LONG=1 all there is, STAGES="gcc check" selects
	$(Q)BUILD=$(BUILD) FULL='$(FULL)' LONG='$(LONG)' STAGES='$(STAGES)' STORIES='$(STORIES)' build-aux/test.sh

clean:  ## Remove $(BUILD)/
	rm -rf $(BUILD)

help:  ## This text
	@awk -F ':.*## ' '/^[a-z.][a-z0-9_.-]*:.*## / { printf "  %-24s %s\n", $$1, $$2 }' $(firstword $(MAKEFILE_LIST))
	@echo
	@echo '  Variables: BUILD=build CC=gcc V=1 WERROR=0 SANITIZE=address|thread FUZZ_SECONDS=30 JOBS=N'
	@echo '  Example:   make CC=clang BUILD=build-clang check'

FORCE:
.PHONY: FORCE all objects unit-tests integration-tests check check-unit check-asan check-tsan check-threads check-integration check-servers check-libmysqlclient \
  check-integration-asan check-faults faults simulate check-simulate fuzz run-fuzzers check-deploy check-chart check-layers check-circles check-texts check-headers check-size check-license check-version check-docs format format-check lint \
  lint-shell lint-c static images release deps cluster-up cluster-down cluster-status control-plane-up control-plane-down deploy \
  undeploy e2e conformance bench demo demo-clean test clean help compile_commands.json
