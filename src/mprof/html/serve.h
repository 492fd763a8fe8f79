/* SPDX-License-Identifier: LGPL-3.0-or-later */
/*
 * serve.h - a web server for one person on this machine, by libmicrohttpd.
 *
 * It listens on 127.0.0.1 or on a unix socket that only its owner can use.  Every address begins
 * with a random token; the Host and Origin headers and Sec-Fetch-Site must be those of a page that
 * came from here, so that neither another page in the browser nor a name that was bound to this
 * address gets an answer.  Only GET and HEAD are answered, and nothing but what `answer` gives:
 * no file is ever opened by name.
 *
 * Threads: `answer` is called on the server's own thread, one call at a time.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "../util/error.h"

struct serve;

struct serve_request {
	const char *path; /* behind the token and its slash: "", "0/ask" */
	/* A value of the query, NULL: it is not there. */
	const char *(*value)(const struct serve_request *r, const char *name);
	void *connection;
};

struct serve_answer {
	unsigned status; /* 0: there is nothing of that name */
	const char *type;
	const char *policy; /* Content-Security-Policy */
	char *body;	    /* with `owned`, freed when it was sent */
	size_t bytes;
	bool owned;
};

struct serve_options {
	const char *socket; /* path of a unix socket; NULL: TCP */
	uint16_t port;	    /* 0: any that is free */
	void (*answer)(void *context, const struct serve_request *r, struct serve_answer *a);
	void *context;
};

/* 0, or -errno with err filled. */
int serve_start(struct serve **s, const struct serve_options *o, struct error *err);
/* What to type into a browser; of a unix socket, behind a port that is forwarded to it. */
const char *serve_url(const struct serve *s);
/* Ends all connections; removes the socket. */
void serve_stop(struct serve *s);
