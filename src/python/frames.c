// SPDX-License-Identifier: LGPL-3.0-or-later
/*
 * frames.c - libmprof_python.so: gives each Python function a frame of its own in call stacks.
 *
 * CPython evaluates all functions of a script in one C function, so a call stack does not say which
 * of them called.  `mprof record --python` preloads this library, which makes the interpreter (3.9
 * or later, by PEP 523) enter each function through a stub of generated code of its own, and writes
 * the names of the stubs to /tmp/perf-PID.map, where mprof looks for them (run/code_names.h).  The
 * interpreter's own "-X perf" (from 3.12) does the same, but without lines, and without the frame
 * pointer by which our unwinder passes generated code.
 *
 * It is built without Python and finds what it needs in the program.  In other programs it does
 * nothing.  Whatever fails turns it off; the script runs as always.
 *
 * Threads: all runs with the lock held that interpreters share, or before there is one; except
 * audit(), see there.
 */
#include "stubs.h"

#include <dlfcn.h>
#include <limits.h>
#include <mprof/scripts.h>
#include <pthread.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <sys/resource.h>
#include <unistd.h>

/* Weak, so that this library can be loaded without libmprof.so. */
extern __typeof__(mprof_set_scripts) mprof_set_scripts __attribute__((weak));
extern __typeof__(mprof_script_memory) mprof_script_memory __attribute__((weak));

/* PyMemAllocatorEx */
struct allocator {
	void *data;
	void *(*malloc)(void *data, size_t size);
	void *(*calloc)(void *data, size_t n, size_t size);
	void *(*realloc)(void *data, void *at, size_t size);
	void (*free)(void *data, void *at);
};

/* What we use of the interpreter.  Of two names, the first is that until 3.11. */
static struct {
	const char *(*Py_GetVersion)(void);
	int (*PySys_AddAuditHook)(int (*hook)(const char *, void *, void *), void *data);
	void *(*PyThreadState_Get)(void);
	void *(*PyInterpreterState_Get)(void);
	int64_t (*PyInterpreterState_GetID)(void *interpreter);	      /* rises, never used again */
	int (*has_feature)(void *interpreter, unsigned long feature); /* 3.12 */
	long (*get_whence)(void *interpreter);			      /* from 3.13 */
	int (*Py_IsInitialized)(void);
	evaluate *(*get_evaluate)(void *interpreter);
	void (*set_evaluate)(void *interpreter, evaluate *how);
	evaluate *real;
	void *(*get_code)(void *frame);		       /* 3.9, 3.10: returns a reference */
	void *(*get_code_of_interpreter)(void *frame); /* from 3.12: likewise */
	void *(*PyUnicode_InternFromString)(const char *text);
	void *(*PyObject_GetAttr)(void *object, void *name);
	const char *(*PyUnicode_AsUTF8)(void *object);
	long (*PyLong_AsLong)(void *object);
	void (*Py_DecRef)(void *object);
	void (*PyErr_Clear)(void);
	int (*PyBytes_AsStringAndSize)(void *object, char **bytes, intptr_t *size);
	intptr_t (*PyObject_Hash)(void *object);
	void (*PyMem_GetAllocator)(int domain, struct allocator *of);
	void (*PyMem_SetAllocator)(int domain, struct allocator *to);
	void *PyCode_Type;
} py;

static const struct {
	void **to;
	const char *name, *later;
	int from, until; /* needed by these minor versions */
} symbols[] = {
#define NEED(to, name)                                 \
	{                                              \
		(void **)&(to), name, name, 9, INT_MAX \
	}
#define NEED_LATER(to, name, later)                     \
	{                                               \
		(void **)&(to), name, later, 9, INT_MAX \
	}
#define NEED_IN(to, name, from, until)                  \
	{                                               \
		(void **)&(to), name, name, from, until \
	}
	NEED(py.PySys_AddAuditHook, "PySys_AddAuditHook"),
	NEED_LATER(py.PyThreadState_Get, "_PyThreadState_UncheckedGet",
		   "PyThreadState_GetUnchecked"),
	NEED(py.PyInterpreterState_Get, "PyInterpreterState_Get"),
	NEED(py.PyInterpreterState_GetID, "PyInterpreterState_GetID"),
	NEED(py.Py_IsInitialized, "Py_IsInitialized"),
	NEED(py.get_evaluate, "_PyInterpreterState_GetEvalFrameFunc"),
	NEED(py.set_evaluate, "_PyInterpreterState_SetEvalFrameFunc"),
	NEED(py.real, "_PyEval_EvalFrameDefault"),
	NEED_IN(py.get_code, "PyFrame_GetCode", 9, 10),
	NEED_IN(py.PyCode_Type, "PyCode_Type", 11, 11),
	NEED_IN(py.get_code_of_interpreter, "PyUnstable_InterpreterFrame_GetCode", 12, INT_MAX),
	NEED(py.PyUnicode_InternFromString, "PyUnicode_InternFromString"),
	NEED(py.PyObject_GetAttr, "PyObject_GetAttr"),
	NEED(py.PyUnicode_AsUTF8, "PyUnicode_AsUTF8"),
	NEED(py.PyLong_AsLong, "PyLong_AsLong"),
	NEED(py.PyBytes_AsStringAndSize, "PyBytes_AsStringAndSize"),
	NEED(py.PyObject_Hash, "PyObject_Hash"),
	NEED(py.PyMem_GetAllocator, "PyMem_GetAllocator"),
	NEED(py.PyMem_SetAllocator, "PyMem_SetAllocator"),
	NEED(py.Py_DecRef, "Py_DecRef"),
	NEED(py.PyErr_Clear, "PyErr_Clear"),
};

enum { BY_NAME, BY_FILE, BY_TABLE, IDENTIFIES };

static struct {
	int minor;     /* Python 3.MINOR */
	bool lines;    /* the instruction that runs is known */
	bool began;    /* in an interpreter, with these strings */
	evaluate *how; /* of interpreters that begin; the first function that is called decides */
	void *qualname, *filename, *line, *table; /* strings: attributes of a code object */
	size_t at[IDENTIFIES]; /* where a code object has the values of three of these */
} state;

/* ---- the functions of the script ---- */

static void put_attribute(void *code, void *attribute, char *text, size_t size)
{
	void *value = py.PyObject_GetAttr(code, attribute);
	const char *utf8 = value ? py.PyUnicode_AsUTF8(value) : NULL;

	if (utf8)
		snprintf(text, size, "%s", utf8);
	else
		py.PyErr_Clear();
	if (value)
		py.Py_DecRef(value);
}

static unsigned line_of(void *code)
{
	void *value = py.PyObject_GetAttr(code, state.line);
	long line = value ? py.PyLong_AsLong(value) : -1;

	if (line < 0)
		py.PyErr_Clear();
	if (value)
		py.Py_DecRef(value);
	return line > 0 && line < INT_MAX ? (unsigned)line : 0;
}

/* Without characters that would end the name or the line. */
static __attribute__((noinline)) stub *stub_of_code(void *code)
{
	char name[STUB_NAME_MOST / 3] = "", file[STUB_NAME_MOST / 2] = "";
	void *table = state.lines ? py.PyObject_GetAttr(code, state.table) : NULL;
	struct function f = { .first = line_of(code) };
	intptr_t bytes = 0;
	stub *by;

	put_attribute(code, state.qualname, name, sizeof(name));
	put_attribute(code, state.filename, file, sizeof(file));
	snprintf(f.name, sizeof(f.name), "%s:%s", *name ? name : "?", file);
	for (char *c = f.name; *c; c++)
		if ((unsigned char)*c < ' ')
			*c = '?';
	if (table && !py.PyBytes_AsStringAndSize(table, (char **)&f.table, &bytes))
		f.bytes = (size_t)bytes;
	else
		py.PyErr_Clear();
	by = stub_named(&f);
	if (table)
		py.Py_DecRef(table);
	return by;
}

/* Returns the code object that a frame runs, or NULL.  It lives as long as the frame. */
static void *code_of(void *frame)
{
	enum { F_CODE = 32 }; /* of _PyInterpreterFrame in 3.11, which has no function for it */
	void *code;

	if (state.minor == 11) {
		memcpy(&code, (char *)frame + F_CODE, sizeof(code));
		return code;
	}
	code = state.minor < 11 ? py.get_code(frame) : py.get_code_of_interpreter(frame);
	if (code)
		py.Py_DecRef(code);
	return code;
}

/* Is it a code object?  Tested once: a debug build has other offsets. */
static bool is_code(const char *code)
{
	void *type;

	if (state.minor != 11)
		return code;
	memcpy(&type, code + sizeof(void *), sizeof(type));
	return type == py.PyCode_Type;
}

/*
 * The stubs of code objects, by address.  Not in their extra data: then the interpreter would call
 * what others have registered to release theirs for all code objects.  Another object may be at the
 * address by now, but with another name, file or table.  Another table may be where the first was,
 * too, but a bytes object has no hash until PyObject_Hash stores it there.
 */
static struct known {
	const char *code;
	const void *is[IDENTIFIES], *hash;
	stub *stub;
} * known; /* KNOWN of them */
#define KNOWN (1u << 13)

static const void *value_at(const void *object, size_t at)
{
	const void *value;

	memcpy(&value, (const char *)object + at, sizeof(value));
	return value;
}

enum { BYTES_HASH = 24 };

/* No exception may be set when it is called: throwing is not. */
static stub *stub_of(void *frame)
{
	char *code = code_of(frame);
	struct known *k = &known[((uintptr_t)code >> 4) * 0x9e3779b97f4a7c15 >> 51];
	bool same = k->code == code;

	if (!code)
		return NULL;
	for (unsigned i = 0; i < IDENTIFIES; i++)
		same &= k->is[i] == value_at(code, state.at[i]);
	if (same && k->hash == value_at(k->is[BY_TABLE], BYTES_HASH))
		return k->stub;
	k->code = code;
	for (unsigned i = 0; i < IDENTIFIES; i++)
		k->is[i] = value_at(code, state.at[i]);
	k->hash = (void *)py.PyObject_Hash((void *)k->is[BY_TABLE]);
	k->stub = stub_of_code(code);
	return k->stub;
}

/* Finds where a code object has the value of an attribute.  Returns false if it does not. */
static bool find_value(const char *code, void *attribute, size_t *at)
{
	enum { HEAD = 16, LAYOUT_MOST = 184 };
	void *value = py.PyObject_GetAttr((void *)code, attribute);

	if (!value) {
		py.PyErr_Clear();
		return false;
	}
	py.Py_DecRef(value);
	for (*at = HEAD; *at < LAYOUT_MOST; *at += sizeof(value))
		if (value_at(code, *at) == value)
			return true;
	return false;
}

static bool keeps_hash(const char *bytes)
{
	const void *hash = (void *)py.PyObject_Hash((void *)bytes);

	return value_at(bytes, BYTES_HASH) == hash;
}

/* Do we understand the interpreter's frames and code objects? */
static bool understands(const char *code)
{
	return code && is_code(code) && find_value(code, state.qualname, &state.at[BY_NAME]) &&
	       find_value(code, state.filename, &state.at[BY_FILE]) &&
	       find_value(code, state.table, &state.at[BY_TABLE]) &&
	       keeps_hash(value_at(code, state.at[BY_TABLE]));
}

/* ---- calls ---- */

/* Below it, functions are evaluated without stubs; 0: unknown yet. */
static __thread uintptr_t lowest __attribute__((tls_model("initial-exec")));

/*
 * From 3.11, calls between functions of a script need no C stack, but they do with stubs, and from
 * 3.12 the interpreter limits the depth of such calls: to 1,500 in 3.12, 10,000 in 3.13, where each
 * call of a function counts twice; 3.14 keeps 32 KiB of a stack and a guard page, more than half of
 * a thread's smallest one.  Deep recursion must not end in an error that it would not have had, so
 * it goes on without stubs when half of the stack is used, or a third of that limit.
 */
static __attribute__((noinline)) uintptr_t find_lowest(void)
{
	const uintptr_t here = (uintptr_t)__builtin_frame_address(0);
	enum {
		UNKNOWN = 128 << 10,
		UNLIMITED = 64 << 20,
		LIMITED_12 = 96 << 10,
		LIMITED = 512 << 10,
		KEPT_14 = 64 << 10
	};
	const size_t kept = state.minor < 14 ? 0 : KEPT_14;
	pthread_attr_t attr;
	struct rlimit limit;
	const size_t limited = state.minor == 12 ? LIMITED_12 : state.minor == 13 ? LIMITED : 0;
	size_t size = 2 * UNKNOWN;
	void *stack = NULL;

	if (getpid() == gettid()) {
		if (!getrlimit(RLIMIT_STACK, &limit))
			size = limit.rlim_cur < UNLIMITED ? limit.rlim_cur : UNLIMITED;
		if (limited && size / 2 > limited)
			size = 2 * limited;
		return here - size / 2;
	}
	if (!pthread_getattr_np(pthread_self(), &attr)) {
		if (pthread_attr_getstack(&attr, &stack, &size))
			stack = NULL;
		pthread_attr_destroy(&attr);
	}
	if (limited && (!stack || here - ((uintptr_t)stack + size / 2) > limited))
		return here - limited;
	return stack ? (uintptr_t)stack + size / 2 + kept : here - UNKNOWN;
}

static evaluate evaluate_by_stub;

static __attribute__((noinline)) void *evaluate_deep(void *thread, void *frame, int throwing)
{
	void *interpreter = py.PyInterpreterState_Get(), *result;

	py.set_evaluate(interpreter, py.real);
	result = py.real(thread, frame, throwing);
	py.set_evaluate(interpreter, evaluate_by_stub);
	return result;
}

/*
 * In 3.11 and later, a thread's frames are in chunks of whole pages, and from 3.12 the function
 * that began a chunk may return it to the system before it leaves its stub.
 */
static bool is_kept(const void *frame)
{
	enum { CHUNK_BEGINS = 24, PAGE = 4096 };

	return state.lines && (uintptr_t)frame % PAGE != CHUNK_BEGINS;
}

/* Must not have a frame when it calls: these are tail calls. */
static void *evaluate_by_stub(void *thread, void *frame, int throwing)
{
	stub *by;

	if (__builtin_expect(!lowest, 0))
		lowest = find_lowest();
	if (__builtin_expect((uintptr_t)__builtin_frame_address(0) < lowest, 0))
		return evaluate_deep(thread, frame, throwing);
	by = throwing ? NULL : stub_of(frame);
	if (!by)
		return py.real(thread, frame, throwing);
	return by(thread, frame, throwing, py.real, is_kept(frame) ? frame : NULL);
}

/*
 * Tells the unwinder where the instruction of a call is, if the frame of a function that begins
 * looks as it does in the versions that we know: its instruction is the first, or the one before.
 */
static void start_lines(const char *frame, const char *code)
{
	static const struct mprof_script_layout layouts[] = {
		[11] = { .code = 32, .instruction = 56, .first = 184 },
		[12] = { .code = 0, .instruction = 56, .first = 192 },
		[13] = { .code = 0, .instruction = 56, .first = 200 },
		[14] = { .code = 0, .instruction = 56, .first = 208 },
		[15] = { .code = 0, .instruction = 56, .first = 208 },
	};
	const struct mprof_script_layout *of;
	const char *instruction;
	uintptr_t has;

	if (state.minor < 11 || state.minor >= (int)(sizeof(layouts) / sizeof(layouts[0])))
		return;
	of = &layouts[state.minor];
	memcpy(&has, frame + of->code, sizeof(has));
	memcpy(&instruction, frame + of->instruction, sizeof(instruction));
	if ((has & MPROF_SCRIPT_CODE) != (uintptr_t)code ||
	    instruction + (state.minor < 13 ? 2 : 0) != code + of->first)
		return;
	mprof_set_scripts(of);
	state.lines = true;
}

/* The first function that is called tells whether we understand its frame. */
static void *evaluate_first(void *thread, void *frame, int throwing)
{
	char *code = throwing ? NULL : code_of(frame);
	const bool understood = understands(code);

	if (understood)
		start_lines(frame, code);
	state.how = understood ? evaluate_by_stub : py.real;
	py.set_evaluate(py.PyInterpreterState_Get(), state.how);
	return state.how(thread, frame, throwing);
}

/* ---- start ---- */

static bool has_strings(void)
{
	known = mprof_script_memory(NULL, KNOWN * sizeof(*known));
	state.qualname =
	    py.PyUnicode_InternFromString(state.minor < 11 ? "co_name" : "co_qualname");
	state.filename = py.PyUnicode_InternFromString("co_filename");
	state.line = py.PyUnicode_InternFromString("co_firstlineno");
	state.table =
	    py.PyUnicode_InternFromString(state.minor < 10 ? "co_lnotab" : "co_linetable");
	if (known && state.qualname && state.filename && state.line && state.table)
		return true;
	py.PyErr_Clear();
	return false;
}

/*
 * Does it run under the lock of the first interpreter, as those that mod_wsgi makes do?  Until 3.11
 * each does.  Later ones can have a lock of their own, but then also objects of their own (3.12),
 * and never if Py_NewInterpreter made them (3.13).
 */
static bool shares_lock(void *interpreter)
{
	enum { OBJECTS_OF_FIRST = 1 << 5, BY_PY_NEW_INTERPRETER = 2 };

	if (state.minor < 12)
		return true;
	if (py.has_feature)
		return py.has_feature(interpreter, OBJECTS_OF_FIRST);
	return py.get_whence && py.get_whence(interpreter) == BY_PY_NEW_INTERPRETER;
}

/* Not if its functions are evaluated in another way. */
static void start(void *interpreter)
{
	if (py.get_evaluate(interpreter) != py.real || (state.began && !shares_lock(interpreter)))
		return;
	if (!state.began)
		state.how = has_strings() ? evaluate_first : py.real;
	state.began = true;
	py.set_evaluate(interpreter, state.how);
}

/*
 * The interpreter takes memory for its record of our hook before it chooses an allocator, and frees
 * it with that.  One that checks what it frees, as with PYTHONMALLOC=debug, would end the program.
 */
enum { RAW };
static struct allocator raw;
static void *record;

static void *take_record(void *data, size_t size)
{
	record = raw.malloc(data, size);
	return record;
}

static void free_but_record(void *data, void *at)
{
	if (at != record)
		raw.free(data, at);
}

static void keep_record(void)
{
	struct allocator now;

	py.PyMem_GetAllocator(RAW, &now);
	if (now.free == raw.free)
		return;
	raw = now;
	now.free = free_but_record;
	py.PyMem_SetAllocator(RAW, &now);
}

/*
 * Called for each event of PEP 578, in all interpreters.  At the first with a thread, the allocator
 * is chosen.  We begin in each interpreter when it is ready, unless its functions are evaluated in
 * another way by then: its own "-X perf" does so, and refuses to start after us.
 *
 * Interpreters with locks of their own also call it, at any time after the first one began.  If one
 * of them changes `last` at the same time, start() is called once more and does nothing, or an
 * interpreter that just begins has no names.
 */
static int audit(const char *event, void *arguments, void *data)
{
	static bool kept;
	static int64_t last = -1; /* the interpreter that began last */
	void *interpreter;
	int64_t id;

	(void)arguments;
	(void)data;
	if ((strcmp(event, "import") != 0 && strcmp(event, "exec") != 0) || !py.PyThreadState_Get())
		return 0;
	if (!kept)
		keep_record();
	kept = true;
	if (!py.Py_IsInitialized())
		return 0;
	interpreter = py.PyInterpreterState_Get();
	id = py.PyInterpreterState_GetID(interpreter);
	if (id <= last)
		return 0;
	last = id;
	start(interpreter);
	return 0;
}

/* Finds a Python in the objects that dlsym searches for a handle. */
static bool find_python(void *in)
{
	*(void **)&py.Py_GetVersion = dlsym(in, "Py_GetVersion");
	if (!py.Py_GetVersion || sscanf(py.Py_GetVersion(), "3.%d.", &state.minor) != 1 ||
	    strstr(py.Py_GetVersion(), "free-threading"))
		return false;
	for (size_t i = 0; i < sizeof(symbols) / sizeof(symbols[0]); i++) {
		if (state.minor < symbols[i].from || state.minor > symbols[i].until)
			continue;
		*symbols[i].to = dlsym(in, symbols[i].name);
		if (!*symbols[i].to)
			*symbols[i].to = dlsym(in, symbols[i].later);
		if (!*symbols[i].to)
			return false;
	}
	*(void **)&py.has_feature = dlsym(in, "_PyInterpreterState_HasFeature");
	*(void **)&py.get_whence = dlsym(in, "_PyInterpreterState_GetWhence");
	return state.minor >= 9;
}

static void begin_in(void *in)
{
	static bool begun;
	struct allocator taking;

	if (begun || !mprof_set_scripts || !mprof_script_memory || !find_python(in))
		return;
	begun = true;
	py.PyMem_GetAllocator(RAW, &raw);
	taking = raw;
	taking.malloc = take_record;
	py.PyMem_SetAllocator(RAW, &taking);
	py.PySys_AddAuditHook(audit, NULL);
	py.PyMem_SetAllocator(RAW, &raw);
}

static __attribute__((constructor)) void begin(void)
{
	begin_in(RTLD_DEFAULT);
}

/* ---- a Python that is loaded later ---- */

/*
 * The plugin of a server, such as uWSGI's, brings Python into a program that already runs.  What
 * it calls first reaches us, because names are looked up in preloaded libraries first.
 */
#define EXPORTED __attribute__((visibility("default")))

/* PyStatus */
struct status {
	int type;
	const char *function, *message;
	int exit_code;
};

/* Returns Python's own function, which the caller would have called without us. */
static void *real(const char *name, void *caller)
{
	void *found = dlsym(RTLD_NEXT, name), *handle;
	Dl_info object;

	if (found) {
		begin_in(RTLD_DEFAULT);
		return found;
	}
	if (!dladdr(caller, &object))
		return NULL;
	handle = dlopen(object.dli_fname, RTLD_LAZY | RTLD_NOLOAD);
	if (!handle)
		return NULL;
	found = dlsym(handle, name);
	if (found)
		begin_in(handle);
	dlclose(handle);
	return found;
}

EXPORTED void Py_Initialize(void);
EXPORTED void Py_InitializeEx(int signals);
EXPORTED struct status Py_InitializeFromConfig(const void *config);

void Py_Initialize(void)
{
	void (*next)(void) = real(__func__, __builtin_return_address(0));

	if (next)
		next();
}

void Py_InitializeEx(int signals)
{
	void (*next)(int) = real(__func__, __builtin_return_address(0));

	if (next)
		next(signals);
}

struct status Py_InitializeFromConfig(const void *config)
{
	struct status (*next)(const void *) = real(__func__, __builtin_return_address(0));

	return next ? next(config) : (struct status){ 1, __func__, "Python was not found", 0 };
}
