/* SPDX-License-Identifier: LGPL-3.0-or-later */
/* gendoc_shell.h - the options of each command in completions of shells.  A part of gendoc.c. */

static void put_zsh_option(char *const field[FIELDS])
{
	const char *s;

	printf(" '--%s:", field[2]);
	for (s = field[5]; *s; s++)
		if (*s == '\'')
			fputs("'\\''", stdout);
		else
			putchar(*s);
	putchar('\'');
}

static void put_command_options(enum format format)
{
	const char *open = "";
	char *field[FIELDS];
	size_t i;

	for (i = 0; i < row_lines; i++) {
		split(row_line[i], field);
		if (row_line[i][0] == 'C') {
			printf("%s\t%s) options=%s", open, *field[1] ? field[1] : "''",
			       format == BASH ? "\"" : "(");
			open = format == BASH ? " --help\" ;;\n"
					      : " '--help:Explain the command') ;;\n";
		} else if (row_line[i][0] == 'O') {
			if (format == BASH)
				printf(" --%s", field[2]);
			else
				put_zsh_option(field);
		}
		free(field[0]);
	}
	fputs(open, stdout);
}

/*
 * Cases of "COMMAND OPTION", and "COMMAND OPTION=", that set `values' to words, @file, @directory
 * or @command; to @none where any value may follow.
 */
static void put_values_of_options(void)
{
	char *field[FIELDS], *command = NULL;
	size_t i;

	for (i = 0; i < row_lines; i++) {
		split(row_line[i], field);
		if (row_line[i][0] == 'C') {
			free(command);
			command = strdup(field[1]);
		} else if (row_line[i][0] == 'O' && *field[3]) {
			printf("\t'%s --%s='", command, field[2]);
			if (*field[4] == '0')
				printf(" | '%s --%s'", command, field[2]);
			if (*field[1])
				printf(" | '%s -%s'", command, field[1]);
			printf(") values='%s' ;;\n", *field[7] ? field[7] : "@none");
		}
		free(field[0]);
	}
	free(command);
}

/* Says what fish offers for the value of an option. */
static void put_fish_value(const char *values)
{
	const char *at = strchr(values, '@');
	const int words = at ? (int)(at - values) : (int)strlen(values);

	if (at && !strcmp(at, "@file"))
		fputs(" -r -F", stdout);
	else if (at && !strcmp(at, "@directory"))
		fputs(" -x -a '(__fish_complete_directories)'", stdout);
	else if (at && !strcmp(at, "@command"))
		fputs(" -x -a '(__fish_complete_command)'", stdout);
	else
		fputs(" -x", stdout);
	if (words)
		printf(" -a '%.*s'", words, values);
}

/* A line for each option: its command, names, values and help. */
static void put_fish_options(void)
{
	char *field[FIELDS], *command = NULL;
	const char *s;

	for (size_t i = 0; i < row_lines; i++) {
		split(row_line[i], field);
		if (row_line[i][0] == 'C') {
			free(command);
			command = strdup(field[1]);
		} else if (row_line[i][0] == 'O') {
			printf("complete -c mprof -n '__mprof_is \"%s\"' -l %s", command, field[2]);
			if (*field[1])
				printf(" -s %s", field[1]);
			if (*field[3] && *field[4] == '0')
				put_fish_value(field[7]);
			fputs(" -d '", stdout);
			for (s = field[5]; *s; s++)
				printf("%s%c", *s == '\'' || *s == '\\' ? "\\" : "", *s);
			puts("'");
		}
		free(field[0]);
	}
	free(command);
}
