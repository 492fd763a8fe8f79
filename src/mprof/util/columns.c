// SPDX-License-Identifier: LGPL-3.0-or-later
/* columns.c - the width of text on a screen, and eliding names that are too wide. */
#include "columns.h"

#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include "terminal.h"
#include "utf8.h"

#define PIECE_LEAST 3u /* letters that remain of a cut word */

size_t columns_of(const char *s, size_t bytes)
{
	size_t columns = 0, i;

	for (i = 0; i < bytes && s[i]; i++)
		columns += !utf8_continues(s[i]);
	return columns;
}

size_t columns_ellipsis(void)
{
	return columns_of(terminal_ellipsis(), SIZE_MAX);
}

/* Bytes of the first, or of the last, `columns` characters of s. */
static size_t head_bytes(const char *s, size_t bytes, size_t columns)
{
	size_t i = 0;

	for (; i < bytes; i++)
		if (!utf8_continues(s[i]) && !columns--)
			break;
	return i;
}

static size_t tail_bytes(const char *s, size_t bytes, size_t columns)
{
	size_t i = bytes;

	while (i && columns)
		columns -= !utf8_continues(s[--i]);
	return bytes - i;
}

static bool is_word(char c)
{
	return c == '_' || c == '~' || (unsigned char)c >= 0x80 || (c >= '0' && c <= '9') ||
	       ((c | 0x20) >= 'a' && (c | 0x20) <= 'z');
}

/* May a name be cut before s[i]?  After a separator, or before an opening one. */
static bool is_seam(const char *s, size_t bytes, size_t i)
{
	if (!i || i >= bytes)
		return true;
	if (strchr(".>", s[i]) || !strncmp(s + i - 1, "...", bytes - i + 1 < 3 ? bytes - i + 1 : 3))
		return false; /* "<...>" was folded before */
	return (strchr(":/(<, .-", s[i - 1]) && s[i] != ':') ||
	       (strchr("/(<, ", s[i]) && s[i - 1] != ' ') || (s[i] == ':' && s[i - 1] != ':');
}

/* Counts the bytes of the head, shortened to a seam or by a piece of a word. */
static size_t trim_head(const char *s, size_t bytes, size_t head)
{
	size_t i, word;

	for (i = head; 2 * i >= head; i--)
		if (is_seam(s, bytes, i))
			return i;
	for (word = head; word && is_word(s[word - 1]); word--)
		;
	return head - word < PIECE_LEAST && word && is_word(s[head]) ? word : head;
}

static size_t trim_tail(const char *s, size_t bytes, size_t tail)
{
	const size_t begin = bytes - tail;
	size_t i, word;

	for (i = begin; 2 * (bytes - i) >= tail; i++)
		if (is_seam(s, bytes, i))
			return bytes - i;
	for (word = begin; word < bytes && is_word(s[word]); word++)
		;
	return word - begin < PIECE_LEAST && word < bytes && is_word(s[begin - 1]) ? bytes - word
										   : tail;
}

/* Where the tail begins inside a word: takes the rest of the word from the end of the head, if that
 * can be cut at another seam. */
static void complete_word(const char *s, size_t bytes, size_t *head, size_t *tail)
{
	const size_t begin = bytes - *tail;
	size_t word = begin, i = *head, missing, spare;

	if (!*tail || !begin || !is_word(s[begin - 1]) || !is_word(s[begin]))
		return;
	while (word && is_word(s[word - 1]))
		word--;
	missing = columns_of(s + word, begin - word);
	while (i && (!is_seam(s, bytes, i) || columns_of(s + i, *head - i) < missing))
		i--;
	if (!i || word <= *head)
		return;
	spare = columns_of(s + i, *head - i) - missing;
	*head = i;
	*tail = bytes - word + (spare >= 2 && !strncmp(s + word - 2, "::", 2) ? 2 : 0);
}

void columns_cut(const char *s, size_t bytes, size_t columns, size_t *head, size_t *tail)
{
	const size_t dots = columns_ellipsis();
	const size_t keep = columns > dots ? columns - dots : 1;

	*head = trim_head(s, bytes, head_bytes(s, bytes, keep - keep / 2));
	*tail = tail_bytes(s, bytes, keep - columns_of(s, *head));
	if (*tail)
		*tail = trim_tail(s, bytes, *tail);
	complete_word(s, bytes, head, tail);
}

void columns_elide(char *to, const char *s, size_t columns)
{
	const size_t bytes = strlen(s);
	size_t head, tail;

	if (columns_of(s, bytes) <= columns) {
		memcpy(to, s, bytes + 1);
		return;
	}
	columns_cut(s, bytes, columns, &head, &tail);
	memcpy(to, s, head);
	strcpy(stpcpy(to + head, terminal_ellipsis()), s + bytes - tail);
}

/* Elides the directories of a program whose path has no room beside its arguments.  Returns the
 * bytes of s that remain, after an ellipsis in `to`, or 0. */
static size_t drop_directories(char *to, const char *s, size_t columns)
{
	const size_t program = strcspn(s, " "), dots = columns_ellipsis();
	size_t base = program;

	while (base && s[base - 1] != '/')
		base--;
	if (!s[program] || columns_of(s, program) + dots <= columns / 2 || base <= dots + 1)
		return 0;
	strcpy(to, terminal_ellipsis());
	return strlen(s + base - 1);
}

void columns_elide_arguments(char *to, const char *s, size_t columns)
{
	const size_t bytes = strlen(s), dots = columns_ellipsis() + 2;
	const size_t keep = columns > dots ? columns - dots : 0;
	size_t head = head_bytes(s, bytes, keep - keep / 2), tail, rest;

	if (columns_of(s, bytes) <= columns) {
		memcpy(to, s, bytes + 1);
		return;
	}
	rest = drop_directories(to, s, columns);
	if (rest) {
		columns_elide_arguments(to + strlen(to), s + bytes - rest,
					columns - columns_ellipsis());
		return;
	}
	while (head && s[head] != ' ')
		head--;
	tail = tail_bytes(s, bytes, keep - columns_of(s, head));
	while (tail && s[bytes - tail - 1] != ' ')
		tail--;
	if (head && tail && head + tail >= keep / 2)
		sprintf(to, "%.*s %s %s", (int)head, s, terminal_ellipsis(), s + bytes - tail);
	else
		columns_elide(to, s, columns);
}

bool columns_is_unit(const char *s, size_t n)
{
	static const char *const unit[] = { "%",   "byte", "bytes", "KiB", "MiB", "GiB", "TiB",
					    "PiB", "EiB",  "ns",    "us",  "ms",  "s",	 "min" };
	size_t i;

	while (n && strchr(",.;:)", s[n - 1]))
		n--;
	for (i = 0; i < sizeof(unit) / sizeof(unit[0]); i++)
		if (strlen(unit[i]) == n && !memcmp(s, unit[i], n))
			return true;
	return false;
}
