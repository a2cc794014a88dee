/*-
 * SPDX-License-Identifier: BSD-2-Clause
 *
 * The one table of commands.  Usage strings are the help, and what the
 * manual's SYNOPSIS has, in the same order.
 */

#include "coppicectl.h"

#define	BOX_OPTIONS \
	"[-a destination] [-b backend] [-c cpus] [-D size] [-d directory] " \
	"[-e name=value] [-F files] [-l label=value] [-M key=value] " \
	"[-m size] [-N mode] [-n name] [-o action] [-P processes] [-p port] " \
	"[-T time] "

const struct command commands[] = {
	{ "attach", cmd_attach, "attach [-i] sandbox exec",
	    "take over the output of a running command", true },
	{ "clone", cmd_clone, "clone " BOX_OPTIONS
	    "[-u user] [-x destination] sandbox",
	    "make a sandbox from another one's disk", false },
	{ "cp", cmd_cp, "cp [-r] [-u user] source target",
	    "copy files to or from a sandbox", false },
	{ "create", cmd_create, "create [-S] " BOX_OPTIONS
	    "[-t template] [-u user] [-w [label=]folder[:ro]] "
	    "[-x destination]",
	    "make and start a sandbox", false },
	{ "destroy", cmd_destroy, "destroy [-a] [-g time] [sandbox ...]",
	    "end sandboxes and remove all they have", false },
	{ "diff", cmd_diff, "diff [-l] [-w label] sandbox [step]",
	    "show what a step changed", false },
	{ "doctor", cmd_doctor, "doctor",
	    "check what this host can do, and say what to do", false },
	{ "events", cmd_events, "events [-f] [sandbox]",
	    "show what happened, and happens", false },
	{ "exec", cmd_exec, "exec [-Dit] [-d directory] [-e name=value] "
	    "[-T time] [-u user] sandbox [--] command [argument ...]",
	    "run a command in a sandbox", true },
	{ "help", cmd_help, "help [command]",
	    "show commands and how they are used", false },
	{ "history", cmd_history, "history [-r] [-w label] sandbox",
	    "list the steps that can be undone", false },
	{ "key create", cmd_key_create, "key create [-f file] [-m size] "
	    "[-n sandboxes] [-r rate] [-s scope] name",
	    "make an API key of the gateway", false },
	{ "key list", cmd_key_list, "key list [-f file]",
	    "list API keys", false },
	{ "key revoke", cmd_key_revoke, "key revoke [-f file] id",
	    "make an API key worthless", false },
	{ "kill", cmd_kill, "kill [-s signal] sandbox exec ...",
	    "send a signal to commands", false },
	{ "list", cmd_list, "list [-q] [-l label=value] [-s state]",
	    "list sandboxes", false },
	{ "logs", cmd_logs, "logs [-f] sandbox",
	    "show what a sandbox's first processes wrote", false },
	{ "net set", cmd_net_set, "net set [-a destination] [-d rate] "
	    "[-f file] [-N mode] [-u rate] [-x destination] sandbox",
	    "change what a sandbox may reach", false },
	{ "net setup", cmd_net_setup, "net setup [-n] [-o address] "
	    "[-r name] [-t address]",
	    "prepare the host's network", false },
	{ "net show", cmd_net_show, "net show [sandbox]",
	    "show the network, or a sandbox's policy", false },
	{ "net teardown", cmd_net_teardown, "net teardown [-o address]",
	    "undo \"net setup\"", false },
	{ "pause", cmd_pause, "pause sandbox ...",
	    "freeze sandboxes", false },
	{ "ps", cmd_ps, "ps sandbox",
	    "list the commands of a sandbox", false },
	{ "redo", cmd_redo, "redo [-n count] [-w label] sandbox",
	    "do again what was undone", false },
	{ "rename", cmd_rename, "rename sandbox name",
	    "give a sandbox another name", false },
	{ "resume", cmd_resume, "resume sandbox ...",
	    "let paused sandboxes go on", false },
	{ "safeguard allow", cmd_safeguard_allow,
	    "safeguard allow [-w label] sandbox safeguard",
	    "let a held operation happen", false },
	{ "safeguard deny", cmd_safeguard_deny,
	    "safeguard deny [-w label] sandbox safeguard",
	    "refuse a held operation", false },
	{ "safeguard list", cmd_safeguard_list, "safeguard list sandbox",
	    "list operations that wait for an answer", false },
	{ "safeguard set", cmd_safeguard_set, "safeguard set [-d deletes] "
	    "[-o overwrites] [-r renames] [-s size] [-T time] [-w label] "
	    "sandbox",
	    "set what is asked about", false },
	{ "shell", cmd_shell, "shell [-d directory] [-e name=value] "
	    "[-u user] sandbox [shell]",
	    "open a shell in a sandbox", true },
	{ "show", cmd_show, "show sandbox",
	    "show all about a sandbox", false },
	{ "snapshot", cmd_snapshot, "snapshot sandbox template",
	    "make a template of a sandbox's disk", false },
	{ "start", cmd_start, "start sandbox ...",
	    "start stopped sandboxes", false },
	{ "stop", cmd_stop, "stop [-g time] sandbox ...",
	    "stop sandboxes, keep their disks", false },
	{ "template build", cmd_template_build,
	    "template build [-n name] kind",
	    "make a template by a distribution's tool", false },
	{ "template export", cmd_template_export,
	    "template export template [file]",
	    "write a template to a tar archive", false },
	{ "template import", cmd_template_import,
	    "template import [-n name] path",
	    "make a template of an archive or OCI layout", false },
	{ "template list", cmd_template_list, "template list",
	    "list templates", false },
	{ "template remove", cmd_template_remove,
	    "template remove template ...",
	    "remove templates", false },
	{ "timeout", cmd_timeout, "timeout sandbox time",
	    "set how long a sandbox lives from now on", false },
	{ "top", cmd_top, "top [-1] [-s time]",
	    "show what sandboxes use", false },
	{ "undo", cmd_undo, "undo [-f] [-n count] [-w label] sandbox",
	    "undo the last steps", false },
	{ "version", cmd_version, "version",
	    "show the versions of coppicectl and coppiced", false },
};
const size_t ncommands = sizeof(commands) / sizeof(commands[0]);
