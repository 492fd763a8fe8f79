// SPDX-License-Identifier: LGPL-3.0-or-later
/* serve.c - see serve.h. */
#include "serve.h"

#include <errno.h>
#include <microhttpd.h>
#include <netinet/in.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#include "../util/alloc.h"
#include "../util/late.h"
#include "../util/unfinished.h"

#define TOKEN_BYTES 16u
#define TOKEN	    (2 * TOKEN_BYTES)
#define CONNECTIONS 32u
#define TIMEOUT	    60u /* seconds without data */

#define MHD_FUNCTIONS(X)                     \
	X(MHD_, add_response_header)         \
	X(MHD_, create_response_from_buffer) \
	X(MHD_, destroy_response)            \
	X(MHD_, lookup_connection_value)     \
	X(MHD_, queue_response)              \
	X(MHD_, start_daemon)                \
	X(MHD_, stop_daemon)

static struct {
	MHD_FUNCTIONS(LATE_MEMBER)
} mhd;

struct serve {
	struct serve_options o;
	struct MHD_Daemon *daemon;
	int fd;
	uint16_t port; /* 0 for a unix socket */
	char token[TOKEN + 1];
	char url[TOKEN + 64];
};

/* ---- who may ask ---- */

/* Compares in constant time, however much of it matches. */
static bool is_token(const struct serve *s, const char *text)
{
	unsigned char differ = 0;
	size_t i;

	if (strnlen(text, TOKEN) < TOKEN)
		return false;
	for (i = 0; i < TOKEN; i++)
		differ |= (unsigned char)(text[i] ^ s->token[i]);
	return !differ;
}

/* Is it a name of this machine that only it uses, with our port?  Any port through a unix
 * socket, because ssh forwards another one. */
static bool is_here(const struct serve *s, const char *host)
{
	static const char *const name[] = { "127.0.0.1", "localhost", "[::1]" };
	char port[16];
	size_t i, n;

	snprintf(port, sizeof(port), ":%u", s->port);
	for (i = 0; host && i < sizeof(name) / sizeof(name[0]); i++) {
		n = strlen(name[i]);
		if (strncmp(host, name[i], n))
			continue;
		if (s->port)
			return !strcmp(host + n, port);
		return !host[n] ||
		       (host[n] == ':' && !host[n + 1 + strspn(host + n + 1, "0123456789")]);
	}
	return false;
}

static const char *header(struct MHD_Connection *c, const char *name)
{
	return mhd.lookup_connection_value(c, MHD_HEADER_KIND, name);
}

static bool is_allowed(const struct serve *s, struct MHD_Connection *c)
{
	const char *host = header(c, "Host"), *origin = header(c, "Origin");
	const char *site = header(c, "Sec-Fetch-Site");

	if (!is_here(s, host))
		return false;
	if (origin && (strncmp(origin, "http://", 7) || strcmp(origin + 7, host)))
		return false;
	return !site || !strcmp(site, "same-origin") || !strcmp(site, "none");
}

/* ---- answers ---- */

static enum MHD_Result reply(struct MHD_Connection *c, const struct serve_answer *a)
{
	static const char *const always[][2] = {
		{ "X-Content-Type-Options", "nosniff" },
		{ "Referrer-Policy", "no-referrer" },
		{ "Cross-Origin-Opener-Policy", "same-origin" },
		{ "Cross-Origin-Resource-Policy", "same-origin" },
		{ "X-Frame-Options", "DENY" },
		{ "Cache-Control", "no-store" },
	};
	struct MHD_Response *r = mhd.create_response_from_buffer(
	    a->bytes, a->body, a->owned ? MHD_RESPMEM_MUST_FREE : MHD_RESPMEM_PERSISTENT);
	enum MHD_Result ret;
	size_t i;

	if (!r)
		return MHD_NO;
	mhd.add_response_header(r, "Content-Type", a->type);
	mhd.add_response_header(r, "Content-Security-Policy",
				a->policy ? a->policy : "default-src 'none'");
	for (i = 0; i < sizeof(always) / sizeof(always[0]); i++)
		mhd.add_response_header(r, always[i][0], always[i][1]);
	if (a->status == MHD_HTTP_METHOD_NOT_ALLOWED)
		mhd.add_response_header(r, "Allow", "GET, HEAD");
	ret = mhd.queue_response(c, a->status, r);
	mhd.destroy_response(r);
	return ret;
}

static enum MHD_Result refuse(struct MHD_Connection *c, unsigned status, const char *why)
{
	const struct serve_answer a = { .status = status,
					.type = "text/plain; charset=utf-8",
					.body = (char *)why,
					.bytes = strlen(why) };

	return reply(c, &a);
}

static const char *value(const struct serve_request *r, const char *name)
{
	return mhd.lookup_connection_value(r->connection, MHD_GET_ARGUMENT_KIND, name);
}

static enum MHD_Result handle(void *self, struct MHD_Connection *c, const char *url,
			      const char *method, const char *version, const char *upload,
			      size_t *upload_bytes, void **seen)
{
	struct serve *s = self;
	struct serve_request r = { .value = value, .connection = c };
	struct serve_answer a = { .status = 0 };

	/* Called first when only the headers are there. */
	if (!*seen) {
		*seen = s;
		return MHD_YES;
	}
	if (*upload_bytes) { /* discard the body; the method is checked below */
		*upload_bytes = 0;
		return MHD_YES;
	}
	if (!is_allowed(s, c))
		return refuse(c, MHD_HTTP_FORBIDDEN, "not from here\n");
	if (strcmp(method, "GET") && strcmp(method, "HEAD"))
		return refuse(c, MHD_HTTP_METHOD_NOT_ALLOWED, "only GET and HEAD\n");
	if (*url != '/' || !is_token(s, url + 1) || url[1 + TOKEN] != '/')
		return refuse(c, MHD_HTTP_NOT_FOUND, "not found\n");
	r.path = url + 1 + TOKEN + 1;
	s->o.answer(s->o.context, &r, &a);
	return a.status ? reply(c, &a) : refuse(c, MHD_HTTP_NOT_FOUND, "not found\n");
}

/* ---- sockets ---- */

static int open_tcp(struct serve *s, struct error *err)
{
	struct sockaddr_in at = { .sin_family = AF_INET, .sin_port = htons(s->o.port) };
	socklen_t bytes = sizeof(at);

	at.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
	s->fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
	if (s->fd < 0 || bind(s->fd, (struct sockaddr *)&at, bytes) < 0 ||
	    listen(s->fd, CONNECTIONS) < 0 ||
	    getsockname(s->fd, (struct sockaddr *)&at, &bytes) < 0)
		return fail(err, -errno, "cannot listen on 127.0.0.1:%u: %m", s->o.port);
	s->port = ntohs(at.sin_port);
	return 0;
}

/* Is it the socket of a server that was killed, so that nothing listens on it? */
static bool is_abandoned(const struct sockaddr_un *at)
{
	struct stat st;
	int fd, ret;

	if (lstat(at->sun_path, &st) < 0 || !S_ISSOCK(st.st_mode))
		return false;
	fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
	ret = connect(fd, (const struct sockaddr *)at, sizeof(*at));
	ret = ret < 0 ? errno : 0;
	close(fd);
	return ret == ECONNREFUSED;
}

static int open_unix(struct serve *s, struct error *err)
{
	struct sockaddr_un at = { .sun_family = AF_UNIX };
	mode_t mask;
	int ret;

	if (strlen(s->o.socket) >= sizeof(at.sun_path))
		return fail(err, -ENAMETOOLONG,
			    "cannot listen on '%s': the path is longer than %zu", s->o.socket,
			    sizeof(at.sun_path) - 1);
	strcpy(at.sun_path, s->o.socket);
	if (is_abandoned(&at))
		unlink(at.sun_path);
	s->fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
	mask = umask(0177); /* only this user may connect */
	ret = s->fd < 0 ? -1 : bind(s->fd, (struct sockaddr *)&at, sizeof(at));
	umask(mask);
	if (ret < 0) {
		ret = -errno;
		ret = fail(err, ret, "cannot listen on '%s': %s", s->o.socket,
			   ret == -EADDRINUSE ? "a file, or the socket of another server, is there"
					      : strerror(-ret));
		s->o.socket = NULL; /* we must not remove it, because it is not ours */
		return ret;
	}
	unfinished_add(s->o.socket);
	return listen(s->fd, CONNECTIONS) < 0
		   ? fail(err, -errno, "cannot listen on '%s': %m", s->o.socket)
		   : 0;
}

static int make_token(struct serve *s, struct error *err)
{
	unsigned char random[TOKEN_BYTES];
	size_t i;

	if (getrandom(random, sizeof(random), 0) != sizeof(random))
		return fail(err, -EIO, "cannot read random numbers from the kernel");
	for (i = 0; i < TOKEN_BYTES; i++)
		snprintf(s->token + 2 * i, 3, "%02x", random[i]);
	return 0;
}

static int load(struct error *err)
{
	static const char *const name[] = { MHD_FUNCTIONS(LATE_NAME) };

	return late_load(LATE_LIBRARY, "serves pages", name, &mhd, sizeof(mhd), err);
}

int serve_start(struct serve **to, const struct serve_options *o, struct error *err)
{
	struct serve *s = must_calloc(1, sizeof(*s));
	int ret;

	s->o = *o;
	s->fd = -1;
	ret = load(err);
	if (!ret)
		ret = make_token(s, err);
	if (!ret)
		ret = o->socket ? open_unix(s, err) : open_tcp(s, err);
	if (!ret) {
		s->daemon = mhd.start_daemon(MHD_USE_AUTO | MHD_USE_INTERNAL_POLLING_THREAD, 0,
					     NULL, NULL, handle, s, MHD_OPTION_LISTEN_SOCKET, s->fd,
					     MHD_OPTION_CONNECTION_LIMIT, CONNECTIONS,
					     MHD_OPTION_CONNECTION_TIMEOUT, TIMEOUT,
					     MHD_OPTION_STRICT_FOR_CLIENT, 1, MHD_OPTION_END);
		if (!s->daemon)
			ret = fail(err, -EIO, "cannot start a web server");
	}
	if (ret < 0) {
		serve_stop(s);
		return ret;
	}
	if (s->port)
		snprintf(s->url, sizeof(s->url), "http://127.0.0.1:%u/%s/", s->port, s->token);
	else
		snprintf(s->url, sizeof(s->url), "http://localhost:8000/%s/", s->token);
	*to = s;
	return 0;
}

const char *serve_url(const struct serve *s)
{
	return s->url;
}

void serve_stop(struct serve *s)
{
	if (s->daemon)
		mhd.stop_daemon(s->daemon); /* closes the socket */
	else if (s->fd >= 0)
		close(s->fd);
	if (s->o.socket && s->fd >= 0) {
		unlink(s->o.socket);
		unfinished_forget(s->o.socket);
	}
	free(s);
}
