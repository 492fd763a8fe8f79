// SPDX-License-Identifier: LGPL-3.0-or-later
/* scripts.c - which line of a script a frame stands for; see <mprof/scripts.h>. */
#include <mprof/module.h>
#include <mprof/scripts.h>

#include "core.h"
#include "local.h"
#include "stack_parts.h"
#include "sys.h"

static struct mprof_script_layout layout;
static int known; /* layout is set */

void mprof_set_scripts(const struct mprof_script_layout *of) __attribute__((visibility("default")));
void mprof_set_scripts(const struct mprof_script_layout *of)
{
	layout = *of;
	__atomic_store_n(&known, 1, __ATOMIC_RELEASE);
}

void *mprof_script_memory(void *at, size_t bytes) __attribute__((visibility("default")));
void *mprof_script_memory(void *at, size_t bytes)
{
	void *memory =
	    sys_mmap(at, bytes, PROT_READ | PROT_WRITE,
		     MAP_PRIVATE | MAP_ANONYMOUS | (at ? MAP_FIXED_NOREPLACE : 0), -1, 0);

	if (sys_failed(memory))
		return NULL;
	if (at && memory != at) { /* a kernel before 4.17 */
		sys_munmap(memory, bytes);
		return NULL;
	}
	mp_self_mapped(memory, bytes);
	return memory;
}

/* Where memory that was writable may not become executable (PR_SET_MDWE, systemd's
 * MemoryDenyWriteExecute), a new mapping of a file may. */
static int script_code_of_file(void *at, size_t bytes)
{
	int fd = (int)mp_sys(SYS_memfd_create, (long)"mprof code", MFD_CLOEXEC, 0, 0, 0, 0);
	void *code;

	if (fd < 0)
		return -1;
	code = mp_write_quietly(fd, at, bytes) == (long)bytes
		   ? sys_mmap(at, bytes, PROT_READ | PROT_EXEC, MAP_PRIVATE | MAP_FIXED, fd, 0)
		   : NULL;
	sys_close(fd);
	return code == at ? 0 : -1;
}

int mprof_script_code(void *at, size_t bytes) __attribute__((visibility("default")));
int mprof_script_code(void *at, size_t bytes)
{
	if (mp_sys(SYS_mprotect, (long)at, (long)bytes, PROT_READ | PROT_EXEC, 0, 0, 0) == 0)
		return 0;
	return script_code_of_file(at, bytes);
}

/*
 * A stub's frame, from its frame pointer:
 *   x86-64: the mark at -16, where the stack ends, the data of the call at -8
 *   aarch64: the frame record, then the data at 16 and the mark at 24; the stack ends here
 */
#if defined(__x86_64__)
enum { SP = -16, DATA = -8, MARK = -16, CALLER = 16 };
#else
enum { SP = 0, DATA = 16, MARK = 24, CALLER = 32 };
#endif

const struct eh_rule mp_script_rule = {
	.base = EH_FP,
	.script = EH_STUB,
	.cfa = CALLER,
#if defined(__x86_64__)
	.ra = -8,
	.fp = -16,
#else
	.ra = -24,
	.fp = -32,
#endif
};

int mp_script_is_stub(uintptr_t pc)
{
	return pc >= MPROF_SCRIPT_STUBS && pc < MPROF_SCRIPT_LINES && !(pc & MPROF_SCRIPT_CHUNK) &&
	       __atomic_load_n(&known, __ATOMIC_ACQUIRE);
}

uintptr_t mp_script_data(uintptr_t sp, uintptr_t fp, uintptr_t high)
{
	const uintptr_t at = fp + (uintptr_t)DATA;

	if (fp + (uintptr_t)SP != sp || !area_holds(sp, high, fp + (uintptr_t)MARK, 8) ||
	    !area_holds(sp, high, at, 8) ||
	    *(const uint32_t *)(fp + (uintptr_t)MARK) != MPROF_SCRIPT_MARK)
		return 0;
	return at;
}

uintptr_t mp_script_line(uintptr_t pc, uintptr_t data, uintptr_t *instruction)
{
	const struct mprof_script *script =
	    (const void *)((pc & -(uintptr_t)MPROF_SCRIPT_STUB) + MPROF_SCRIPT_CHUNK);
	uintptr_t code, at;

	*instruction = 0;
	if (!data || !script->line)
		return script->lines + 1;
	*instruction = data + layout.instruction;
	code = *(const uintptr_t *)(data + layout.code) & MPROF_SCRIPT_CODE;
	at = (*(const uintptr_t *)*instruction - code - layout.first) / 2;
	/* Before the first instruction, and if the code is another one. */
	return script->lines + 1 + (at < script->instructions ? script->line[at] : 0);
}
