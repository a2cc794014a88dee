/*-
 * SPDX-License-Identifier: BSD-2-Clause
 *
 * The gateway: what the SDK costs against coppicectl(8), a command against
 * a bare round trip, files against nginx, and streams that wait.  A coppiced
 * and a gateway of its own run in a network of its own; linux only, as the
 * "ns" backend is.
 */

#include <sys/stat.h>
#include <sys/wait.h>

#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "bench.h"
#include "coppice.h"

#define	SDK	"/usr/local/lib/coppice-sdk"
#define	API	"http://127.0.0.1:3000"
#define	NGINX	"http://127.0.0.1:8099"
#define	SIZE	(256L << 20)
#define	CTL	OBJTOP "/sbin/coppicectl/coppicectl"

static char dir[] = "/tmp/gwbench.XXXXXX";
static char file[64], pidtext[16], box[CO_IDSIZE + 1];
static pid_t children[3];

static pid_t
start(const char *const *argv)
{
	pid_t pid = fork();
	int fd;

	if (pid != 0)
		return (pid);
	fd = open("/dev/null", O_RDWR);
	(void)dup2(fd, STDIN_FILENO);
	(void)dup2(fd, STDOUT_FILENO);
	(void)dup2(fd, STDERR_FILENO);
	(void)execvp(argv[0], (char *const *)(uintptr_t)argv);
	_exit(127);
}

static void
put(const char *name, const char *text)
{
	char path[128];
	FILE *f;

	(void)snprintf(path, sizeof(path), "%s/%s", dir, name);
	f = fopen(path, "we");
	if (f == NULL)
		return;
	(void)fputs(text, f);
	(void)fclose(f);
}

/* Run a program and return what it prints, or NULL; the caller frees. */
static char *
run(const char *const *argv)
{
	static char sock[128];
	const char *env[] = { "PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:"
	    "/usr/bin:/sbin:/bin", "SDK=" SDK, "E2B_API_URL=" API,
	    "E2B_SANDBOX_URL=" API, "E2B_API_KEY=e2b_none", sock, NULL };
	struct co_run r = { .argv = argv, .env = env, .deadline =
	    co_after(120000) };
	struct co_result res;
	struct co_error e;

	(void)snprintf(sock, sizeof(sock), "COPPICE_SOCKET=%s/run/control",
	    dir);
	if (co_run(&r, &res, &e) != 0) {
		(void)fprintf(stderr, "gateway: %s\n", e.message);
		return (NULL);
	}
	if (res.status == 0) {
		res.out[strcspn(res.out, "\n")] = '\0';
		return (res.out);
	}
	(void)fprintf(stderr, "gateway: %s: %s\n", argv[0], res.out);
	free(res.out);
	return (NULL);
}

static double
number(const char *const *argv)
{
	char *s = run(argv);
	double v = s != NULL ? strtod(s, NULL) : -1;

	free(s);
	return (v);
}

static double
load(const char *what)
{
	const char *argv[] = { "/usr/bin/env", "node", SRCDIR "/load.mjs",
	    what, pidtext, NULL };

	return (number(argv));
}

static double
sdk_create(void *arg)
{

	(void)arg;
	return (load("create"));
}

static double
ctl_create(void *arg)
{
	const char *create[] = { CTL, "create", NULL };
	const char *exec[] = { CTL, "exec", NULL, "true", NULL };
	const char *destroy[] = { CTL, "destroy", "-g", "0", NULL, NULL };
	double t = bench_now();
	char *id, *s;

	(void)arg;
	id = run(create);
	if (id == NULL)
		return (-1);
	exec[2] = destroy[4] = id;
	s = run(exec);
	t = s != NULL ? bench_now() - t : -1;
	free(s);
	free(run(destroy));
	free(id);
	return (t);
}

static double
sdk_run(void *arg)
{

	(void)arg;
	return (load("run"));
}

static double
health(void *arg)
{

	(void)arg;
	return (load("health"));
}

/* Bytes a second, as curl sees it. */
static double
curl(const char *const *more, size_t n)
{
	const char *argv[16] = { "/usr/bin/curl", "-sf", "-o", "/dev/null",
	    "-w", "%{time_total}" };
	double t;

	memcpy(&argv[6], more, n * sizeof(*more));
	t = number(argv);
	return (t > 0 ? (double)SIZE / t : -1);
}

static double
gw_up(void *arg)
{
	static char id[80], data[80];
	const char *argv[] = { "-H", id, "-H",
	    "Content-Type: application/octet-stream", "--data-binary", data,
	    API "/files?path=/var/tmp/f" };

	(void)arg;
	(void)snprintf(id, sizeof(id), "E2b-Sandbox-Id: %s", box);
	(void)snprintf(data, sizeof(data), "@%s", file);
	return (curl(argv, 7));
}

static double
gw_down(void *arg)
{
	static char id[80];
	const char *argv[] = { "-H", id, API "/files?path=/var/tmp/f" };

	(void)arg;
	(void)snprintf(id, sizeof(id), "E2b-Sandbox-Id: %s", box);
	return (curl(argv, 3));
}

static double
nginx_up(void *arg)
{
	const char *argv[] = { "-T", file, NGINX "/up/f" };

	(void)arg;
	return (curl(argv, 3));
}

static double
nginx_down(void *arg)
{
	const char *argv[] = { NGINX "/f" };

	(void)arg;
	return (curl(argv, 1));
}

static void
begin(void)
{
	const char *lo[] = { "ip", "link", "set", "lo", "up", NULL };
	const char *coppiced[] = { OBJTOP "/sbin/coppiced/coppiced", "-f",
	    "-p", dir, NULL };
	const char *gw[] = { OBJTOP "/sbin/coppicegw/coppicegw", "-f", "-p",
	    dir, NULL };
	const char *build[] = { CTL, "template", "build", "tiny", NULL };
	char text[1024], path[64];
	const char *nginx[] = { "nginx", "-c", path, NULL };
	int fd;

	free(run(lo));
	put("coppice.conf", "net { enable = false }\n"
	    "log { level = \"warn\" }\n");
	(void)snprintf(path, sizeof(path), "%s/nginx.conf", dir);
	(void)snprintf(text, sizeof(text), "daemon off; pid %s/pid; "
	    "error_log /dev/null; user root; events {} http { access_log "
	    "off; client_body_temp_path %s/body; sendfile on; server { "
	    "listen 127.0.0.1:8099; client_max_body_size 1g; root %s; "
	    "location /up/ { dav_methods PUT; create_full_put_path on; } } "
	    "}\n", dir, dir, dir);
	put("nginx.conf", text);
	(void)snprintf(file, sizeof(file), "%s/f", dir);
	fd = open(file, O_WRONLY | O_CREAT | O_CLOEXEC, 0644);
	memset(text, 'x', sizeof(text));
	for (long i = 0; i < SIZE; i += (long)sizeof(text))
		(void)!write(fd, text, sizeof(text));
	(void)close(fd);
	children[0] = start(coppiced);
	children[2] = start(nginx);
	(void)sleep(2);
	free(run(build));
	children[1] = start(gw);
	(void)snprintf(pidtext, sizeof(pidtext), "%d", (int)children[1]);
	(void)sleep(1);
}

static void
end(void)
{
	const char *destroy[] = { CTL, "destroy", "-a", "-g", "0", NULL };
	const char *rm[] = { "/bin/rm", "-rf", dir, NULL };

	free(run(destroy));
	for (size_t i = 0; i < 3; i++)
		if (children[i] > 0) {
			(void)kill(children[i], SIGTERM);
			(void)waitpid(children[i], NULL, 0);
		}
	free(run(rm));
}

/* A sandbox that anybody who knows its id may use. */
static void
open_box(void)
{
	const char *argv[] = { "/usr/bin/curl", "-sf", "-d",
	    "{\"templateID\":\"tiny\",\"timeout\":3600}", API "/sandboxes",
	    NULL };
	char *s = run(argv), *id;

	id = s != NULL ? strstr(s, "\"sandboxID\":\"") : NULL;
	if (id != NULL)
		(void)snprintf(box, sizeof(box), "%.32s", id + 13);
	free(s);
}

int
main(int argc, char *argv[])
{
	struct bench *b;

	if (getenv("GWBENCH") == NULL) {
		char **again = calloc((size_t)argc + 3, sizeof(char *));

		(void)setenv("GWBENCH", "inside", 1);
		if (again == NULL)
			return (2);
		again[0] = strdup("unshare");
		again[1] = strdup("-n");
		memcpy(&again[2], argv, ((size_t)argc + 1) * sizeof(char *));
		(void)execvp(again[0], again);
		return (2);
	}
	b = bench_open("gateway", &argc, argv);
	if (mkdtemp(dir) == NULL)
		return (2);
	begin();
	open_box();
	bench_ratio(b, "create and a command", "coppicectl", BENCH_ATMOST,
	    1.5, sdk_create, ctl_create, NULL);
	bench_ratio(b, "commands.run", "GET /health", BENCH_ATMOST, 4,
	    sdk_run, health, NULL);
	bench_ratio(b, "upload of 256 MiB", "nginx", BENCH_ATLEAST, 0.6,
	    gw_up, nginx_up, NULL);
	bench_ratio(b, "download of 256 MiB", "nginx", BENCH_ATLEAST, 0.6,
	    gw_down, nginx_down, NULL);
	bench_value(b, "KiB of an idle stream", "limit", BENCH_ATMOST, 64,
	    load("idle"));
	end();
	return (bench_close(b));
}
