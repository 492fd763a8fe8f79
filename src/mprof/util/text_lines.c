// SPDX-License-Identifier: LGPL-3.0-or-later
/* text_lines.c - see text_lines.h. */
#include "text_lines.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

int text_lines(const char *path, int (*take)(void *self, char *line, struct error *err), void *self,
	       struct error *err)
{
	FILE *in = fopen(path, "re");
	size_t room = 0, number = 0;
	char *line = NULL;
	struct error why;
	int ret = 0;

	if (!in)
		return fail(err, -errno, "cannot read '%s': %s", path, strerror(errno));
	while (!ret && getline(&line, &room, in) > 0) {
		number++;
		ret = take(self, line, &why);
		if (ret)
			fail(err, ret, "'%s', line %zu: %s", path, number, why.text);
	}
	if (!ret && ferror(in))
		ret = fail(err, -EIO, "cannot read '%s': %s", path, strerror(errno));
	free(line);
	fclose(in);
	return ret;
}

char *text_trim(char *s)
{
	size_t n;

	s += strspn(s, " \t\r\n");
	for (n = strlen(s); n && strchr(" \t\r\n", s[n - 1]); n--)
		;
	s[n] = '\0';
	return s;
}
