/* SPDX-License-Identifier: LGPL-3.0-or-later */
/* hang.c - an allocator whose free waits for ever from the 100th call on. */
#include <stddef.h>
#include <unistd.h>

void *__libc_malloc(size_t);
void __libc_free(void *);

void *malloc(size_t size)
{
	return __libc_malloc(size);
}

void free(void *p)
{
	static int calls;

	while (__atomic_add_fetch(&calls, 1, __ATOMIC_RELAXED) >= 100)
		pause();
	__libc_free(p);
}
