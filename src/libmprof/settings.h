/* SPDX-License-Identifier: LGPL-3.0-or-later */
/* settings.h - how the program configures its allocator. */
#pragma once

/* Call it when a program has begun: notes the variables of its environment. */
void mp_settings_note(void);
