/* SPDX-License-Identifier: LGPL-3.0-or-later */
/*
 * serve.h - a web server for one person on this machine, by libmicrohttpd.
 *
 * It listens on 127.0.0.1 or on a unix socket that only its owner can use.  Every address begins
 * with a random token; the Host and Origin headers and Sec-Fetch-Site must be those of a page that
 * came from here, so that neither another page in the browser nor a name that was bound to this
 * address gets an answer.  Only GET and HEAD are answered, only with the results of `answer`: no
 * file is ever opened by name.
 *
 * Threads: `answer` is called on the server's own thread, one call at a time.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include "../util/error.h"

struct serve;

struct serve_request {
	const char *path; /* after the token and its slash: "", "0/ask" */
	/* Returns a value of the query, NULL if it is missing. */
	const char *(*value)(const struct serve_request *r, const char *name);
	void *connection;
};

struct serve_answer {
	unsigned status; /* 0 if there is nothing of that name */
	const char *type;
	const char *policy; /* Content-Security-Policy */
	char *body;	    /* freed after sending if `owned` */
	size_t bytes;
	bool owned;
};

/* Answers with an object of JSON: a query that is not understood, or this text, which is freed. */
static inline void serve_invalid(struct serve_answer *a)
{
	*a = (struct serve_answer){
		.status = 400, .type = "application/json", .body = (char *)"{}", .bytes = 2
	};
}
static inline void serve_json(struct serve_answer *a, char *text)
{
	*a = (struct serve_answer){
		.status = 200,
		.type = "application/json",
		.body = text,
		.bytes = strlen(text),
		.owned = true,
	};
}

struct serve_options {
	const char *socket; /* path of a unix socket; NULL = TCP */
	uint16_t port;	    /* 0 = any free port */
	void (*answer)(void *context, const struct serve_request *r, struct serve_answer *a);
	void *context;
};

/* 0, or -errno with err filled. */
int serve_start(struct serve **s, const struct serve_options *o, struct error *err);
/* Returns the URL for a browser; for a unix socket, the part after a port that is forwarded to
 * it. */
const char *serve_url(const struct serve *s);
/* Ends all connections; removes the socket. */
void serve_stop(struct serve *s);
