# mprof - see `make help`.
#
# Knobs:   V=1 shows commands        DEBUG=1 -O0 -g3 with assertions
#          SAN=address,undefined     sanitizers, command line and unit tests only
#          COV=1 coverage            O=DIR builds there (default build)
#          CC= CFLAGS= LDFLAGS= DESTDIR= PREFIX= as everywhere

VERSION := 0.2.0
O ?= build
# One name for a directory, however it was given: dependencies are kept by names.
override O := $(O:$(CURDIR)/%=%)
PREFIX ?= /usr/local
LIBDIR ?= $(PREFIX)/lib
BINDIR ?= $(PREFIX)/bin
MANDIR ?= $(PREFIX)/share/man
LIBEXECDIR ?= $(PREFIX)/libexec/mprof
PKG_CONFIG ?= pkg-config

ifeq ($(origin CC),default)
CC := gcc
endif
CFLAGS ?= -O2 -g
WARN := -Wall -Wextra -Wpointer-arith -Wstrict-prototypes -Wmissing-prototypes -Wvla \
	-Wold-style-definition -Wundef
BASE := -std=gnu11 -D_GNU_SOURCE -Iinclude -DMPROF_VERSION='"$(VERSION)"' $(WARN) -MMD -MP
ifdef DEBUG
CFLAGS := -O0 -g3
else
BASE += -DNDEBUG
endif
ifdef SAN
CLI_SAN := -fsanitize=$(SAN) -fno-omit-frame-pointer -fno-sanitize-recover=all
$(addprefix $(O)/src/mprof/,trace/%.o heap/%.o pass/%.o util/%.o): override CFLAGS += -O1
endif
ifdef COV
CLI_SAN += --coverage
endif

ifndef V
Q := @
say = @printf '  %-7s %s\n' "$(1)" "$(2)"
endif

CLI_PKGS := json-c libzstd zlib libprotobuf-c sqlite3 libdw libelf
# Loaded by the commands that use them, see src/mprof/util/late.h.
LATE_PKGS := cairo libzip libmicrohttpd libdeflate
# Functions of an interface need not use all of its parameters.
CLI_CFLAGS := $(BASE) -Wno-unused-parameter -I$(O)/gen $(shell $(PKG_CONFIG) --cflags $(CLI_PKGS) $(LATE_PKGS)) $(CLI_SAN)
CLI_LIBS := $(shell $(PKG_CONFIG) --libs $(CLI_PKGS)) -liberty -ldl -lpthread -lm $(CLI_SAN)
# The library is preloaded into strangers: nothing exported by accident, nothing
# bound lazily, no dependency but libc.  Counters that lie side by side are added to one by one: in
# a vector register that takes three times as many instructions.
LIB_CFLAGS := $(BASE) -fPIC -fvisibility=hidden -ftls-model=initial-exec -fno-stack-protector \
	-fno-tree-slp-vectorize \
	-fno-builtin-malloc -fno-builtin-free -fno-builtin-calloc -fno-builtin-realloc -DMPROF_BUILTIN
LIB_LDFLAGS := -shared -Wl,-soname,libmprof.so.0 -Wl,-z,now -Wl,-z,relro -Wl,--no-undefined \
	-Wl,-Bsymbolic

LIB_SRC := $(sort $(filter-out %/archive.c,$(wildcard src/libmprof/*.c)) $(filter-out %/skeleton.c,$(wildcard modules/init/*.c modules/mode/*.c)))
CLI_SRC := $(sort $(wildcard src/mprof/*.c src/mprof/*/*.c))
RUNNER_SRC := $(sort $(wildcard src/runner/*.c))
UNIT_SRC := $(sort $(wildcard tests/unit/*.c))
VICTIM_SRC := $(sort $(wildcard tests/preload/*.c))
VICTIM_CXX := $(sort $(wildcard tests/preload/*.cc))
BENCH_SRC := $(sort $(wildcard tests/bench/*.c))

LIB_OBJ := $(LIB_SRC:%.c=$(O)/%.o)
CLI_OBJ := $(CLI_SRC:%.c=$(O)/%.o) $(O)/gen/pprof.pb-c.o
CLI_PART := $(filter-out $(O)/src/mprof/main.o,$(CLI_OBJ))
RUNNER_OBJ := $(RUNNER_SRC:%.c=$(O)/%.o)
UNIT_OBJ := $(UNIT_SRC:%.c=$(O)/%.o)
VICTIM_LIB := $(sort $(wildcard tests/preload/lib/*.c tests/preload/lib/*.cc))
VICTIMS := $(VICTIM_SRC:tests/preload/%.c=$(O)/preload/%) $(VICTIM_CXX:tests/preload/%.cc=$(O)/preload/%) \
	$(patsubst tests/preload/lib/%,$(O)/preload/lib/%.so,$(basename $(VICTIM_LIB)))
BENCHES := $(BENCH_SRC:tests/bench/%.c=$(O)/bench/%)
MANPAGES := $(patsubst man/%.in,$(O)/man/%,$(sort $(wildcard man/*.in)))
SECTIONS := 1 5 7
COMPLETIONS := $(O)/completions/mprof.bash $(O)/completions/_mprof $(O)/completions/mprof.fish

.PHONY: all mprof libmprof.so libmprof.a lib victims pages units bench-programs check check-quick test bench \
	bench-replay fuzz-build sanitized-units mutations \
	install uninstall clean help format readme
.DELETE_ON_ERROR:

## all: the library, the program, manual pages and completions (default)
all: $(O)/libmprof.so $(O)/libmprof.a $(O)/libmprof_mpi.so $(O)/libmprof_python.so $(O)/mprof $(O)/mprof_replay $(O)/skeleton.so $(MANPAGES) $(COMPLETIONS)

## mprof libmprof.so: only this
mprof: $(O)/mprof
libmprof.so: $(O)/libmprof.so
libmprof.a: $(O)/libmprof.a

$(O)/libmprof.so: $(LIB_OBJ)
	$(call say,LINK,$@)
	$(Q)$(CC) $(CFLAGS) $(LIB_LDFLAGS) $(LDFLAGS) -o $@ $^ -ldl -lpthread

$(O)/libmprof_mpi.so: src/mpi/init.c
$(O)/libmprof_python.so: $(wildcard src/python/*.[ch])
$(O)/libmprof_mpi.so $(O)/libmprof_python.so:
	$(call say,LINK,$@)
	$(Q)$(CC) $(CFLAGS) $(BASE) -fPIC -fvisibility=hidden -shared -Wl,-z,now -Wl,-z,relro $(LDFLAGS) -o $@ $(filter %.c,$^) -ldl -lpthread

# Whoever takes malloc from the archive takes what keeps static programs out.
$(O)/archive/interpose.o: $(O)/src/libmprof/interpose.o $(O)/src/libmprof/archive.o
	$(Q)mkdir -p $(@D) && $(CC) -r -nostdlib -o $@ $^
$(O)/libmprof.a: $(O)/archive/interpose.o $(filter-out %/interpose.o,$(LIB_OBJ))
	$(call say,AR,$@)
	$(Q)rm -f $@ && $(AR) rcs $@ $^

$(O)/mprof: $(CLI_OBJ)
	$(call say,LINK,$@)
	$(Q)$(CC) $(CFLAGS) $(LDFLAGS) -o $@ $^ $(CLI_LIBS)

# What it measures is the allocator: all calls of it stay (-fno-builtin) and are bound at the start.
RUNNER_CFLAGS := $(BASE) -O2 -fno-builtin -fno-plt -fPIE
$(O)/mprof_replay: $(RUNNER_OBJ)
	$(call say,LINK,$@)
	$(Q)$(CC) $(CFLAGS) -pie -Wl,-z,now $(LDFLAGS) -o $@ $^ -lpthread
$(O)/src/runner/%.o: src/runner/%.c
	$(call say,CC,$<)
	$(Q)mkdir -p $(@D) && $(CC) $(RUNNER_CFLAGS) $(CFLAGS) -c -o $@ $<

# Built as a user would build a module of his own: against module.h alone.
$(O)/skeleton.so: modules/mode/skeleton.c $(wildcard include/mprof/*.h include/mprof/*.def)
	$(call say,MODULE,$@)
	$(Q)$(CC) -std=gnu11 -D_GNU_SOURCE -Iinclude $(WARN) $(CFLAGS) -fPIC -shared -o $@ $<

$(O)/src/libmprof/%.o: src/libmprof/%.c
	$(call say,CC,$<)
	$(Q)mkdir -p $(@D) && $(CC) $(LIB_CFLAGS) $(CFLAGS) -c -o $@ $<
$(O)/modules/%.o: modules/%.c
	$(call say,CC,$<)
	$(Q)mkdir -p $(@D) && $(CC) $(LIB_CFLAGS) $(CFLAGS) -c -o $@ $<
$(O)/src/mprof/%.o: src/mprof/%.c
	$(call say,CC,$<)
	$(Q)mkdir -p $(@D) && $(CC) $(CLI_CFLAGS) $(CFLAGS) -c -o $@ $<
# Tests gain nothing from -O2, which takes twice as long to compile them as -O1.
$(O)/tests/unit/%.o: tests/unit/%.c
	$(call say,CC,$<)
	$(Q)mkdir -p $(@D) && $(CC) $(CLI_CFLAGS) -Isrc/mprof $(CFLAGS:-O2=-O1) -c -o $@ $<

# The encoder of pprof's format is made from its description.
$(O)/gen/pprof.pb-c.c $(O)/gen/pprof.pb-c.h &: src/mprof/export/pprof.proto
	$(call say,PROTOC,$<)
	$(Q)mkdir -p $(O)/gen && protoc-c -Isrc/mprof/export --c_out=$(O)/gen $<
$(O)/gen/%.o: $(O)/gen/%.c
	$(call say,CC,$<)
	$(Q)$(CC) $(CLI_CFLAGS) $(CFLAGS) -c -o $@ $<
$(O)/src/mprof/export/export_pprof.o $(O)/tests/unit/export_more.o: $(O)/gen/pprof.pb-c.h

# The names of libraries that are loaded late: of those that their headers belong to.
soname = $(shell readelf -d "$$($(CC) $$($(PKG_CONFIG) --libs-only-L $(1)) -print-file-name=$(2).so)" \
	2>/dev/null | sed -n 's/.*(SONAME).*\[\(.*\)\]/\1/p')
$(O)/src/mprof/draw/canvas.o: CLI_CFLAGS += -DLATE_LIBRARY='"$(call soname,cairo,libcairo)"'
$(O)/src/mprof/html/serve.o: CLI_CFLAGS += -DLATE_LIBRARY='"$(call soname,libmicrohttpd,libmicrohttpd)"'
$(O)/src/mprof/sym/dwarf_file.o $(O)/src/mprof/util/blob.o: CLI_CFLAGS += -DLATE_LIBRARY='"$(call soname,libdeflate,libdeflate)"'
$(O)/src/mprof/import/import_text.o: CLI_CFLAGS += -DLATE_LIBRARY='"$(call soname,libzip,libzip)"'

# Of these loops gcc only makes more instructions when it looks for vectors.
$(O)/src/mprof/pass/analysis.o $(O)/src/mprof/trace/group_read.o: CLI_CFLAGS += -fno-tree-slp-vectorize

# The player of movies is bundled and stands in the program as it is.
$(O)/gen/movie.js: $(wildcard src/web/*.ts src/web/*.css)
	$(call say,BUNDLE,$@)
	$(Q)mkdir -p $(@D) && esbuild src/web/main.ts --bundle --minify --format=iife --target=es2020 \
		--charset=utf8 --loader:.css=text --log-level=warning --outfile=$@
$(O)/src/mprof/draw/movie_player.o: $(O)/gen/movie.js
$(O)/src/mprof/draw/movie_player.o: CLI_CFLAGS += -Wa,-I,$(O)/gen

# The report's page: style and script, and their hashes for its content security policy.
WEB_REPORT := $(wildcard src/web/*.ts src/web/*.css src/web/report/*.ts src/web/report/*.css)
$(O)/gen/report.js: $(WEB_REPORT)
	$(call say,BUNDLE,$@)
	$(Q)mkdir -p $(@D) && esbuild src/web/report/main.ts --bundle --minify --format=iife \
		--target=es2022 --charset=utf8 --log-level=warning --outfile=$@
$(O)/gen/report.css: $(WEB_REPORT)
	$(Q)mkdir -p $(@D) && esbuild src/web/report/report.css --bundle --minify --charset=utf8 \
		--log-level=warning --outfile=$@
sha256 = $$(sha256sum $(1) | cut -c-64 | tr a-f A-F | basenc --decode --base16 | base64 -w0)
$(O)/gen/unpack.js: src/web/report/unpack.ts
	$(Q)mkdir -p $(@D) && esbuild src/web/report/unpack.ts --bundle --minify --format=iife \
		--target=es2022 --charset=utf8 --log-level=warning --outfile=$@
$(O)/gen/html_hashes.h: $(O)/gen/report.js $(O)/gen/unpack.js $(O)/gen/report.css
	$(Q)printf '#define HTML_%s_SHA256 "%s"\n' SCRIPT "$(call sha256,$(O)/gen/report.js)" \
		UNPACK "$(call sha256,$(O)/gen/unpack.js)" STYLE "$(call sha256,$(O)/gen/report.css)" >$@
$(O)/src/mprof/html/html_frame.o: $(O)/gen/html_hashes.h
$(O)/src/mprof/html/html_frame.o: CLI_CFLAGS += -I$(O)/gen -Wa,-I,$(O)/gen

units: $(O)/unit
$(O)/unit: $(UNIT_OBJ) $(CLI_PART)
	$(call say,LINK,$@)
	$(Q)$(CC) $(CFLAGS) $(LDFLAGS) -o $@ $^ $(CLI_LIBS) $(shell $(PKG_CONFIG) --libs check)

# Victims print what they do; optimisation must not remove a call.
victims: $(VICTIMS)
$(O)/preload/%: tests/preload/%.c
	$(call say,VICTIM,$@)
	$(Q)mkdir -p $(@D) && $(CC) -std=gnu11 -D_GNU_SOURCE -Iinclude -g -O1 -fno-builtin $(WARN) -Wno-missing-prototypes -o $@ $< -lpthread -ldl
$(O)/preload/lib/%.so: tests/preload/lib/%.c
	$(call say,VICTIM,$@)
	$(Q)mkdir -p $(@D) && $(CC) -std=gnu11 -D_GNU_SOURCE -g -O1 -fno-builtin -fPIC -shared -o $@ $<
$(O)/preload/lib/%.so: tests/preload/lib/%.cc
	$(call say,VICTIM,$@)
	$(Q)mkdir -p $(@D) && g++ -std=c++17 -g -O1 -fno-builtin -fPIC -shared -o $@ $<
$(O)/preload/%: tests/preload/%.cc
	$(call say,VICTIM,$@)
	$(Q)mkdir -p $(@D) && g++ -std=c++17 -Iinclude -g -O1 -fno-builtin -Wall -o $@ $< -lpthread -ldl

## pages: the library as it is where pages have 64 KiB, for the tests, in O-pages
PAGES := $(O)-pages
pages: all victims
	$(Q)$(MAKE) --no-print-directory O=$(PAGES) CFLAGS='$(CFLAGS) -g0 -DMP_FAKE_PAGE=65536u' libmprof.so libmprof.a
	$(Q)cp -a $(O)/mprof $(O)/mprof_replay $(O)/skeleton.so $(O)/preload $(PAGES)

bench-programs: $(BENCHES)
$(O)/bench/%: tests/bench/%.c
	$(call say,BENCH,$@)
	$(Q)mkdir -p $(@D) && $(CC) -std=gnu11 -D_GNU_SOURCE -g -O2 -fno-builtin -o $@ $< -lpthread -ldl

# Manual pages and completions are made from the same tables as the parser.  The option rows
# come from the program itself.
JSON_DEFS := $(sort $(wildcard src/mprof/json/*.def))
$(O)/gen/json_files.h: src/mprof/json
	$(Q)mkdir -p $(@D) && for def in $(JSON_DEFS:src/mprof/%=%); do name=$${def##*/}; \
		printf "{ 'F', \"%s\", \"\", \"\" },\n#include <%s>\n" "$${name%.def}" "$$def"; done >$@
$(O)/gendoc: scripts/gendoc.c include/mprof/options.def include/mprof/modules.def include/mprof/functions.def \
		src/mprof/cmd/commands.def src/mprof/print/views.def src/mprof/export/exports.def \
		src/mprof/pass/figures.def include/mprof/runner.h src/mprof/profile/by.def \
		scripts/gendoc_json.h scripts/gendoc_shell.h $(O)/gen/json_files.h $(JSON_DEFS)
	$(call say,HOSTCC,$@)
	$(Q)mkdir -p $(@D) && $(CC) -std=gnu11 -D_GNU_SOURCE -Iinclude -Isrc/mprof -I$(O)/gen -DMPROF_VERSION='"$(VERSION)"' -O1 -o $@ $<
$(O)/gen/rows: $(O)/mprof
	$(Q)mkdir -p $(@D) && { $(O)/mprof --rows; $(O)/mprof help --rows; } >$@ || { rm -f $@; false; }
$(O)/man/%: man/%.in $(wildcard man/*.md include/mprof/*.md) $(O)/gendoc $(O)/gen/rows
	$(call say,MAN,$@)
	$(Q)mkdir -p $(@D) && $(O)/gendoc $(O)/gen/rows $< >$@
$(O)/completions/%: completions/%.in $(O)/gendoc $(O)/gen/rows
	$(call say,GEN,$@)
	$(Q)mkdir -p $(@D) && $(O)/gendoc $(O)/gen/rows $< >$@

## check: the rules of CONTRIBUTING.md (layers, exports, headers, format, sizes) and the unit tests
check: all units
	$(Q)scripts/check-house $(O)
	$(Q)$(O)/unit

## test: every test (the same as scripts/test)
test:
	$(Q)scripts/test

## bench: tables of ratios against native and heaptrack
bench: all bench-programs
	$(Q)scripts/bench

## bench-replay: does a replay predict real runs under other allocators?
bench-replay: all bench-programs
	$(Q)scripts/bench --replay

## readme: what README.md shows, from real runs
readme: all
	$(Q)scripts/readme

# The sanitized build: what tests/fuzz/mutate runs, and the unit tests.  With -O0, which compiles in a
# third of the time; but for what walks millions of events in tests.
SANITIZED := $(O)-sanitized
make_sanitized = $(Q)$(MAKE) --no-print-directory O=$(SANITIZED) SAN=address,undefined CFLAGS='-O0 -g1'
fuzz-build: all victims
	+$(make_sanitized) $(SANITIZED)/mprof $(SANITIZED)/mprof_replay
sanitized-units:
	+$(make_sanitized) units

## mutations: 20,000 changed files for every command that reads files, sanitized; about an hour
mutations: fuzz-build
	$(Q)tests/fuzz/mutate --cases all

## format: clang-format over the tree
format:
	$(Q)clang-format -i $$(git ls-files '*.c' '*.h')

# Made while installing: it says where.
pc = sed -e 's|@PREFIX@|$(PREFIX)|;s|@LIBDIR@|$(LIBDIR)|;s|@VERSION@|$(VERSION)|' scripts/mprof.pc.in

## install uninstall: under DESTDIR and PREFIX
install: all
	install -d $(DESTDIR)$(BINDIR) $(DESTDIR)$(LIBDIR)/pkgconfig $(DESTDIR)$(PREFIX)/include/mprof \
		$(SECTIONS:%=$(DESTDIR)$(MANDIR)/man%) \
		$(DESTDIR)$(PREFIX)/share/bash-completion/completions $(DESTDIR)$(PREFIX)/share/zsh/site-functions \
		$(DESTDIR)$(PREFIX)/share/fish/vendor_completions.d
	install -m 755 $(O)/mprof $(DESTDIR)$(BINDIR)/mprof
	install -d $(DESTDIR)$(LIBEXECDIR)
	install -m 755 $(O)/mprof_replay $(DESTDIR)$(LIBEXECDIR)/mprof_replay
	install -m 755 $(O)/libmprof.so $(DESTDIR)$(LIBDIR)/libmprof.so.$(VERSION)
	install -m 755 $(O)/libmprof_mpi.so $(O)/libmprof_python.so $(DESTDIR)$(LIBDIR)
	install -m 644 $(O)/libmprof.a $(DESTDIR)$(LIBDIR)
	ln -sf libmprof.so.$(VERSION) $(DESTDIR)$(LIBDIR)/libmprof.so.0
	ln -sf libmprof.so.$(VERSION) $(DESTDIR)$(LIBDIR)/libmprof.so
	$(pc) >$(DESTDIR)$(LIBDIR)/pkgconfig/mprof.pc
	install -m 644 include/mprof/*.h include/mprof/*.def $(DESTDIR)$(PREFIX)/include/mprof
	$(foreach s,$(SECTIONS),install -m 644 $(filter %.$(s),$(MANPAGES)) $(DESTDIR)$(MANDIR)/man$(s) &&) true
	install -m 644 $(O)/completions/mprof.bash $(DESTDIR)$(PREFIX)/share/bash-completion/completions/mprof
	install -m 644 $(O)/completions/_mprof $(DESTDIR)$(PREFIX)/share/zsh/site-functions/_mprof
	install -m 644 $(O)/completions/mprof.fish $(DESTDIR)$(PREFIX)/share/fish/vendor_completions.d/mprof.fish
uninstall:
	rm -f $(DESTDIR)$(LIBEXECDIR)/mprof_replay
	rm -f $(DESTDIR)$(BINDIR)/mprof $(DESTDIR)$(LIBDIR)/libmprof.so $(DESTDIR)$(LIBDIR)/libmprof.so.0 \
		$(DESTDIR)$(LIBDIR)/libmprof.so.$(VERSION) $(DESTDIR)$(LIBDIR)/libmprof_mpi.so $(DESTDIR)$(LIBDIR)/libmprof_python.so \
		$(DESTDIR)$(LIBDIR)/libmprof.a \
		$(DESTDIR)$(LIBDIR)/pkgconfig/mprof.pc \
		$(foreach s,$(SECTIONS),$(patsubst $(O)/man/%,$(DESTDIR)$(MANDIR)/man$(s)/%,$(filter %.$(s),$(MANPAGES)))) \
		$(DESTDIR)$(PREFIX)/share/bash-completion/completions/mprof \
		$(DESTDIR)$(PREFIX)/share/zsh/site-functions/_mprof $(DESTDIR)$(PREFIX)/share/fish/vendor_completions.d/mprof.fish
	rm -rf $(DESTDIR)$(PREFIX)/include/mprof

## clean: remove the build directory
clean:
	rm -rf $(O)

## help: this list
help:
	@sed -n 's/^## /  make /p' Makefile; echo; sed -n '2,/^$$/s/^# \{0,1\}//p' Makefile

-include $(RUNNER_OBJ:.o=.d) $(LIB_OBJ:.o=.d) $(CLI_OBJ:.o=.d) $(UNIT_OBJ:.o=.d)
