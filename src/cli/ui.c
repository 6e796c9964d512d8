/* cli/ui.c: the live page of run and watch. */
#include "cli/ui.h"

#include "cli/cli.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define LOOPBACK "127.0.0.1"

int ui_parse_port(const char *text, void *ret_port)
{
    size_t len = strspn(text, "0123456789");
    unsigned long port = len > 0 && len <= 5 && text[len] == '\0' ? strtoul(text, NULL, 10) : 0;
    if (port == 0 || port > 65535)
        return -EINVAL;
    *(unsigned *) ret_port = (unsigned) port;
    return 0;
}

int live_parse_ui(const char *text, void *target)
{
    struct live_ui *ui = target;
    ui->wanted = true;
    return text[0] ? ui_parse_port(text, &ui->port) : 0;
}

int ui_listen(const char *command, const char *option, const char *address, unsigned port,
              struct serve_listener *ret)
{
    int r = serve_listen(address, port, ret);
    if (r == -EADDRINUSE && port != 0)
        cli_say("%s: %s: port %u is taken: choose another one, or none", command, option, port);
    else if (r < 0)
        cli_say("%s: cannot listen at %s: %s", command, address, error_words(-r));
    else if (!ret->is_usual)
        cli_say("port %u is taken, so the page is at port %u", SERVE_PORT, ret->port);
    return r;
}

/* What is listened to everywhere has no address of its own: the machine's name is one. */
void ui_add_address(struct buf *out, const struct serve_listener *listener)
{
    char name[256];
    const char *host = listener->host;
    bool is_everywhere = strcmp(host, "0.0.0.0") == 0 || strcmp(host, "[::]") == 0;
    if (is_everywhere && gethostname(name, sizeof(name) - 1) == 0) {
        name[sizeof(name) - 1] = '\0';
        host = name;
    }
    buf_addf(out, "http://%s:%u/", host, listener->port);
}

int ui_start(struct live_options *o, const char *command)
{
    struct serve_listener listener;
    o->ui.server = -1;
    if (!o->ui.wanted)
        return 0;
    if (o->no_store) {
        cli_say("%s: --ui shows the run file: leave out --no-store", command);
        return -EINVAL;
    }
    int r = ui_listen(command, "--ui", LOOPBACK, o->ui.port, &listener);
    if (r < 0)
        return r;
    r = serve_beside_start(&listener, &o->ui.server);
    close(listener.fd);
    if (r < 0)
        cli_say("%s: --ui: %s", command, error_words(-r));
    o->ui.port = listener.port;
    return r;
}

void ui_show(const struct live_options *o, const char *run_file)
{
    if (!o->ui.wanted || o->ui.server < 0)
        return;
    if (run_file)
        cli_say("live page: http://%s:%u/ (until the run ends; 'tidemark serve' shows it again)",
                LOOPBACK, o->ui.port);
    else
        cli_say("--ui: there is no run file to show");
    serve_beside_show(o->ui.server, run_file);
}
