/* cli/ui.h: the live page of run and watch, and what serve shares with it. */
#ifndef TIDEMARK_CLI_UI_H
#define TIDEMARK_CLI_UI_H

#include "cli/live.h"
#include "serve/serve.h"

/* Writes an unsigned: a port. -EINVAL. */
int ui_parse_port(const char *text, void *ret_port);

/* Listens, with a message if that fails or if it is not the usual port. `option`: for messages. */
int ui_listen(const char *command, const char *option, const char *address, unsigned port,
              struct serve_listener *ret);

/* "http://127.0.0.1:8433/" */
void ui_add_address(struct buf *out, const struct serve_listener *listener);

/*
 * With --ui: starts the server. Call it before the command is started, so
 * that a port that is taken is an error in time. 0, or -errno with a message.
 */
int ui_start(struct live_options *o, const char *command);

/* Shows the run file and prints the address; NULL: this run is not recorded. */
void ui_show(const struct live_options *o, const char *run_file);

#endif
