/* SPDX-License-Identifier: LGPL-3.0-or-later */
/*
 * gendoc_json.h - the reference of JSON answers, made from the rows that emit them
 * (src/mprof/print/json_rows.h).
 *
 * In a page, `@JSON FILE@' stands for all objects of src/mprof/json/FILE.def, the last one
 * first: that is the answer, and what it consists of follows.  `gendoc --json' prints a line
 * for each field, with tabs between FILE, object, name, type and 1 for one that may be missing;
 * the name of the fields of another object is `+', its type that object.
 */
struct json_row {
	char what; /* File, Object, field, +: fields of another object, (: may be missing from here
		    */
	const char *name, *type, *help;
};

#define JSON_OBJECT(object, title, parameters, help) { 'O', #object, title, help },
#define JSON_SHARED				     JSON_OBJECT
#define JSON_END
#define JSON_ROW(name, type, help)     { 'f', name, type, help },
#define NUMBER(name, value, help)      JSON_ROW(name, "number", help)
#define SIGNED(name, value, help)      JSON_ROW(name, "integer", help)
#define FLAG(name, value, help)	       JSON_ROW(name, "boolean", help)
#define STRING(name, value, help)      JSON_ROW(name, "string", help)
#define RATIO(name, value, help)       JSON_ROW(name, "fraction", help)
#define DECIMAL			       RATIO
#define REAL			       RATIO
#define ADDRESS			       STRING
#define BUILD_ID		       STRING
#define PATH			       STRING
#define MOMENT(name, value, help)      JSON_ROW(name, "integer or null", help)
#define ARGUMENT(name, type, help)     { '(' }, JSON_ROW(name, type, help){ ')' },
#define FIELD(name, type, value, help) JSON_ROW(name, type, help)
#define PRINTED			       STRING
#define LIST(name, type, help)	       JSON_ROW(name, type, help)
#define ELEMENTS(object, count, which, arguments)
#define END_LIST
#define NUMBER_IF(known, name, value, help)   JSON_ROW(name, "number or null", help)
#define SIGNED_IF(known, name, value, help)   JSON_ROW(name, "integer or null", help)
#define STRING_IF(known, name, value, help)   JSON_ROW(name, "string or null", help)
#define RATIO_IF(known, name, value, help)    JSON_ROW(name, "fraction or null", help)
#define DECIMAL_IF			      RATIO_IF
#define MEMBER(name, object, arguments, help) JSON_ROW(name, "object " #object, help)
#define MEMBER_IF(known, name, object, arguments, help) \
	JSON_ROW(name, "object " #object " or null", help)
#define ARRAY(name, object, count, arguments, help)	  JSON_ROW(name, "array of " #object, help)
#define SOME(name, object, count, which, arguments, help) JSON_ROW(name, "array of " #object, help)
#define STRINGS(name, count, value, help)		  JSON_ROW(name, "array of strings", help)
#define SOME_STRINGS(name, count, which, value, help)	  JSON_ROW(name, "array of strings", help)
#define NUMBERS(name, count, value, help)		  JSON_ROW(name, "array of numbers", help)
#define MAP(name, count, known, key, value, help)	  JSON_ROW(name, "object of numbers", help)
#define OBJECTS(name, object, count, known, key, arguments, help) \
	JSON_ROW(name, "objects " #object, help)
#define ALSO(object, arguments) { '+', #object, "", "" },
#define AFTER(object)		{ '+', #object, "", "" },
#define ROW_LIST(object, help)	JSON_ROW("rows", "array of " #object, help)
#define WHEN(...)		{ '(' },
#define OTHERWISE
#define END_WHEN { ')' },
#define ONLY(condition)
#define LOCAL(...)

static const struct json_row json_rows[] = {
#include <json_files.h> /* each .def file, by the Makefile: { 'F', "NAME", "", "" } and its rows */
};
enum { JSON_ROWS = sizeof(json_rows) / sizeof(json_rows[0]) };

static int json_shown[JSON_ROWS]; /* files of this page */

static const struct json_row *json_object(const char *name, size_t n)
{
	size_t i;

	for (i = 0; i < JSON_ROWS; i++)
		if (json_rows[i].what == 'O' && !strncmp(json_rows[i].name, name, n) &&
		    !json_rows[i].name[n])
			return &json_rows[i];
	fatal("no JSON_OBJECT of the name", name);
	return NULL;
}

static void put_sentence(const char *s)
{
	char text[1024];

	if (!*s)
		return;
	snprintf(text, sizeof(text), "%c%s%s", toupper((unsigned char)*s), s + 1,
		 s[strlen(s) - 1] == '.' ? "" : ".");
	put_markdown(text, text + strlen(text));
	putchar('\n');
}

/* "array of A or B" names objects by their titles.  Most fields are numbers, so that goes unsaid.
 */
static void put_json_type(const char *type)
{
	static const char *const plain[] = { "strings", "numbers", "null", NULL };
	const char *at = type, *end;
	int i, known;

	if (!strcmp(type, "number"))
		return;
	if (!strncmp(type, "object of ", 10) ||
	    (strncmp(type, "object", 6) && strncmp(type, "array of ", 9))) {
		printf(".Pq %s\n", type);
		return;
	}
	at += strcspn(type, " ") + 1;
	at += !strncmp(at, "of ", 3) ? 3 : 0;
	printf(".Pq %.*s", (int)(at - type) - 1, type);
	for (; *at; at = end + (*end ? 4 : 0)) {
		end = strstr(at, " or ");
		end = end ? end : at + strlen(at);
		for (known = i = 0; plain[i]; i++)
			known |= !strncmp(at, plain[i], (size_t)(end - at));
		if (known)
			printf(" %.*s", (int)(end - at), at);
		else
			printf(" \\(lq%s\\(rq", json_object(at, (size_t)(end - at))->type);
		fputs(*end ? " or" : "", stdout);
	}
	putchar('\n');
}

static void put_json_object(const struct json_row *r)
{
	int open = 0;

	printf(".Ss \\&%s\n", r->type);
	put_sentence(r->help);
	for (r++; r < json_rows + JSON_ROWS && r->what != 'O' && r->what != 'F'; r++) {
		if ((r->what == 'f' && (!*r->name || !*r->help)) || strchr("()", r->what))
			continue;
		if (!open++)
			puts(".Bl -tag -compact -width \"average_live_bytes\"");
		if (r->what == '+') {
			printf(".It all fields of \\(lq%s\\(rq\n",
			       json_object(r->name, strlen(r->name))->type);
		} else {
			printf(".It Cm %s\n", r->name);
			put_json_type(r->type);
			put_sentence(r->help);
		}
	}
	if (open)
		puts(".El");
}

/* The file's objects, the last one first. */
static void put_json_file(const char *marker)
{
	size_t n = strcspn(marker, "@"), from, i;

	for (from = 0; from < JSON_ROWS; from++)
		if (json_rows[from].what == 'F' && !strncmp(json_rows[from].name, marker, n) &&
		    !json_rows[from].name[n])
			break;
	if (from == JSON_ROWS)
		fatal("no rows of JSON for", marker);
	json_shown[from] = 1;
	for (i = from + 1; i < JSON_ROWS && json_rows[i].what != 'F'; i++)
		;
	while (--i > from)
		if (json_rows[i].what == 'O')
			put_json_object(&json_rows[i]);
}

/* A page with a part of the reference has all of it. */
static void check_json_files(void)
{
	int some = 0;
	size_t i;

	for (i = 0; i < JSON_ROWS; i++)
		some |= json_shown[i];
	for (i = 0; some && i < JSON_ROWS; i++)
		if (json_rows[i].what == 'F' && !json_shown[i])
			fatal("a page lacks '@JSON FILE@' of", json_rows[i].name);
}

static int put_json_rows(void)
{
	const char *file = "", *object = "";
	int depth = 0;
	size_t i;

	for (i = 0; i < JSON_ROWS; i++) {
		const struct json_row *r = &json_rows[i];

		if (r->what == 'F')
			file = r->name;
		else if (r->what == 'O')
			object = r->name;
		else if (strchr("()", r->what))
			depth += r->what == '(' ? 1 : -1;
		else if (r->what == '+' || *r->name)
			printf("%s\t%s\t%s\t%s\t%d\n", file, object, r->what == '+' ? "+" : r->name,
			       r->what == '+' ? r->name : r->type, depth > 0);
	}
	return fflush(stdout) || ferror(stdout);
}
