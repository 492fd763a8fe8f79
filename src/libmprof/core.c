// SPDX-License-Identifier: LGPL-3.0-or-later
/*
 * core.c - which table is in place, and the page size.
 */
#include "core.h"

#include <sys/auxv.h>

const struct mprof_api *mp_api MP_HIDDEN = &mp_boot_api;
const struct mprof_mode_ops *mp_mode MP_HIDDEN;
uint32_t mp_page_bytes MP_HIDDEN = 4096;
static const struct mprof_api *mode_table; /* in place while recording */
static uint32_t recording;

int mp_recording(void)
{
	return (int)__atomic_load_n(&recording, __ATOMIC_RELAXED);
}

static void core_publish(const struct mprof_api *api)
{
	/* Pairs with the acquire in mp_table(): the table's data was written before. */
	__atomic_store_n(&mp_api, api, __ATOMIC_RELEASE);
}

void mp_recording_begin(const struct mprof_api *api)
{
	mode_table = api;
	recording = 1;
}

void mp_publish_mode(void)
{
	core_publish(mode_table);
}

void mp_publish_pass(void)
{
	core_publish(&mp_pass_api);
}

int mp_recording_end(void)
{
	/* Pairs with mp_recording_continue(): either it stores its table before ours, or it sees
	 * the end. */
	if (!__atomic_exchange_n(&recording, 0, __ATOMIC_SEQ_CST))
		return 0;
	__atomic_store_n(&mp_api, &mp_pass_api, __ATOMIC_SEQ_CST);
	return 1;
}

void mp_recording_continue(void)
{
	__atomic_store_n(&mp_api, mode_table, __ATOMIC_SEQ_CST);
	/* Pairs with mp_recording_end(): either we see the end, or it stores its table after ours.
	 */
	if (!__atomic_load_n(&recording, __ATOMIC_SEQ_CST))
		core_publish(&mp_pass_api);
}

uint32_t mp_page_know(void)
{
#ifdef MP_FAKE_PAGE
	mp_page_bytes = MP_FAKE_PAGE;
#else
	unsigned long bytes = getauxval(AT_PAGESZ);

	if (bytes)
		mp_page_bytes = (uint32_t)bytes;
#endif
	return mp_page_bytes;
}

/* See program.h. */
void mprof_keep_thread(unsigned keep) EXPORT;
void mprof_keep_thread(unsigned keep)
{
	if (mp_recording() && mp_mode && mp_mode->thread_keep)
		mp_mode->thread_keep(keep);
}
