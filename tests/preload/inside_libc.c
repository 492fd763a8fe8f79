/* SPDX-License-Identifier: LGPL-3.0-or-later */
/* inside_libc.c - blocks that the C library allocates and the program frees, and the reverse. */
#include "victim.h"

#include <dirent.h>
#include <locale.h>
#include <regex.h>
#include <search.h>
#include <wchar.h>
#include <wordexp.h>

static void strings(void)
{
	char *s = NULL, *line = NULL;
	size_t n = 0;
	wchar_t *w = wcsdup(L"wide");
	FILE *f;

	must(asprintf(&s, "%0500d", 7) == 500);
	free(s);
	free(strdup("dup"));
	free(strndup("dup", 2));
	free(w);
	free(realpath("/usr/..", NULL));
	free(getcwd(NULL, 0));
	f = fopen("/proc/self/status", "r");
	must(f);
	while (getline(&line, &n, f) > 0)
		;
	free(line);
	must(fscanf(f, "%ms", &s) <= 0);
	fclose(f);
	must(sscanf("word", "%ms", &s) == 1);
	free(s);
	f = open_memstream(&s, &n);
	must(f && fprintf(f, "%5000d", 1) == 5000 && fclose(f) == 0 && n == 5000);
	free(s);
}

static int compare(const void *a, const void *b)
{
	return strcmp(a, b);
}

static void keep(void *key)
{
	(void)key;
}

static void tables(void)
{
	struct dirent **names;
	regex_t regex;
	wordexp_t words;
	void *root = NULL;
	locale_t locale;
	int n = scandir("/proc/self", &names, NULL, alphasort);

	must(n > 0);
	while (n--)
		free(names[n]);
	free(names);
	must(regcomp(&regex, "^(a|b)*c{2,3}[[:alpha:]]+$", REG_EXTENDED) == 0);
	must(regexec(&regex, "abababccdef", 0, NULL, 0) == 0);
	regfree(&regex);
	must(wordexp("~ $HOME *", &words, WRDE_NOCMD) == 0);
	wordfree(&words);
	must(tsearch("key", &root, compare));
	tdestroy(root, keep);
	locale = newlocale(LC_ALL_MASK, "C.UTF-8", NULL);
	if (locale)
		freelocale(locale);
	must(setenv("A_VARIABLE", "value", 1) == 0 && unsetenv("A_VARIABLE") == 0);
}

int main(void)
{
	for (int i = 0; i < 20; i++) {
		strings();
		tables();
	}
	say("size 501 20"); /* asprintf's last word */
	say("atleast calls.malloc 200");
	say("ends 0");
	return 0;
}
