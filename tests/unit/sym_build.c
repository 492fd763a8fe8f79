// SPDX-License-Identifier: LGPL-3.0-or-later
/* sym_build.c - programs that are compiled during a test, and frames in them. */
#include "sym_build.h"

#include "suites.h"

#include <elfutils/libdwelf.h>
#include <fcntl.h>
#include <gelf.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

char build_dir[64];

void build_begin(void)
{
	strcpy(build_dir, "/tmp/mprof-sym-XXXXXX");
	ck_assert_ptr_nonnull(mkdtemp(build_dir));
	setenv("XDG_CACHE_HOME", build_dir, 1);
	unsetenv("DEBUGINFOD_URLS");
}

void build_end(void)
{
	char command[256];

	snprintf(command, sizeof(command), "chmod -R u+w %s; rm -rf %s", build_dir, build_dir);
	ck_assert_int_eq(system(command), 0);
}

static char *command_of(const char *format, va_list args)
{
	char *text, *whole;

	ck_assert_int_ge(vasprintf(&text, format, args), 0);
	/* The compilers that are run must not come under this process's sanitizer options. */
	ck_assert_int_ge(asprintf(&whole, "cd %s && { %s; }", build_dir, text), 0);
	free(text);
	return whole;
}

bool build_have(const char *program)
{
	char command[128];

	snprintf(command, sizeof(command), "command -v %s >/dev/null 2>&1", program);
	return system(command) == 0;
}

bool build_try(const char *format, ...)
{
	va_list args;
	char *command;
	int status;

	va_start(args, format);
	command = command_of(format, args);
	va_end(args);
	status = system(command);
	free(command);
	return status == 0;
}

void build_run(const char *format, ...)
{
	va_list args;
	char *command;

	va_start(args, format);
	command = command_of(format, args);
	va_end(args);
	ck_assert_msg(system(command) == 0, "failed: %s", command);
	free(command);
}

char *build_output(const char *format, ...)
{
	char *command, *text = NULL;
	size_t size = 0;
	va_list args;
	FILE *from, *to;
	int c;

	va_start(args, format);
	command = command_of(format, args);
	va_end(args);
	from = popen(command, "r");
	to = open_memstream(&text, &size);
	ck_assert_ptr_nonnull(from);
	while ((c = getc(from)) != EOF)
		putc(c, to);
	fclose(to);
	ck_assert_msg(pclose(from) == 0, "failed: %s", command);
	free(command);
	return text;
}

void build_file(const char *name, const char *text)
{
	char path[128];
	FILE *f;

	snprintf(path, sizeof(path), "%s/%s", build_dir, name);
	f = fopen(path, "w");
	ck_assert_ptr_nonnull(f);
	fputs(text, f);
	fclose(f);
}

void build_object(struct build *b, const char *path)
{
	memset(b, 0, sizeof(*b));
	if (*path == '/')
		snprintf(b->path, sizeof(b->path), "%s", path);
	else
		snprintf(b->path, sizeof(b->path), "%s/%s", build_dir, path);
	b->object[0].path = "";
	b->object[1].path = b->path;
	b->stacks =
	    (struct stacks){ .object = b->object, .objects = 2, .frame = b->frame, .frames = 1 };
	b->options.no_cache = true;
}

static void read_segments(struct build *b, Elf *elf)
{
	size_t count, i, n = 0;
	GElf_Phdr ph;

	ck_assert_int_eq(elf_getphdrnum(elf, &count), 0);
	for (i = 0; i < count; i++) {
		ck_assert_ptr_nonnull(gelf_getphdr(elf, (int)i, &ph));
		if (ph.p_type == PT_LOAD)
			b->segment[n++] = (struct stack_segment){ ph.p_vaddr, ph.p_memsz,
								  ph.p_offset, ph.p_flags };
	}
	b->object[1].segment = b->segment;
	b->object[1].segments = n;
}

void build_identify(struct build *b)
{
	int fd = open(b->path, O_RDONLY);
	const void *id;
	ssize_t n;
	Elf *elf;

	ck_assert_int_ge(fd, 0);
	elf_version(EV_CURRENT);
	elf = elf_begin(fd, ELF_C_READ, NULL);
	ck_assert_ptr_nonnull(elf);
	read_segments(b, elf);
	n = dwelf_elf_gnu_build_id(elf, &id);
	if (n > 0) {
		memcpy(b->id, id, (size_t)n);
		b->object[1].build_id = b->id;
		b->object[1].build_id_bytes = (size_t)n;
	}
	elf_end(elf);
	close(fd);
}

uint32_t build_frame(struct build *b, uint64_t address, uint32_t flags)
{
	ck_assert_ptr_null(b->sym);
	ck_assert_uint_lt(b->stacks.frames, sizeof(b->frame) / sizeof(b->frame[0]));
	b->frame[b->stacks.frames] = (struct stack_frame){ address, 1, flags };
	return (uint32_t)b->stacks.frames++;
}

const struct sym_lines *build_ask(struct build *b, uint32_t frame)
{
	struct error err = { "" };

	if (!b->sym)
		ck_assert_msg(!sym_open(&b->sym, &b->stacks, &b->options, &err), "%s", err.text);
	return sym_frame(b->sym, frame);
}

const char *build_text(struct build *b, uint32_t frame)
{
	static char text[8192];
	const struct sym_lines *lines = build_ask(b, frame);
	size_t i, n = 0;

	text[0] = '\0';
	for (i = 0; i < lines->count && n < sizeof(text); i++) {
		const struct sym_line *l = &lines->line[i];
		const char *slash = strrchr(l->file, '/');

		n += (size_t)snprintf(text + n, sizeof(text) - n, "%s%s", i ? " < " : "",
				      l->function);
		if (*l->file && n < sizeof(text))
			n += (size_t)snprintf(text + n, sizeof(text) - n, " %s:%u",
					      slash ? slash + 1 : l->file, l->line);
		ck_assert_int_eq(l->inlined, i + 1 < lines->count);
	}
	return text;
}

void build_close(struct build *b)
{
	sym_close(b->sym);
	b->sym = NULL;
}
