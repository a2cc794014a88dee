# SPDX-License-Identifier: BSD-2-Clause
#
# A sandbox from its creation to its end, by the real daemon.

. "$TEST_SRCDIR/e2e.subr"

e2e_case states "create, list, show, pause, resume, stop, start, destroy"
states_body() {
	up
	ctl create -n one -e A=b -l team=x -M note=y -m 64m -P 64 >id
	id=$(cat id)
	[ ${#id} -eq 32 ] || fail "id is \"$id\""
	says one list -q
	says one list -q -l team=x -s running
	says "" list -q -l team=y
	[ "$(field state one)" = running ] || fail "it does not run"
	[ "$(field state "$id")" = running ] || fail "not found by id"
	[ "$(field name "$(echo "$id" | cut -c1-6)")" = one ] ||
	    fail "not found by the beginning of its id"
	[ "$(field backend one)" = ns ] || fail "backend"
	says 10.78.0 exec one -- sh -c \
	    "ip -4 addr show eth0 | sed -n 's/.*inet \(10.78.0\).*/\1/p'"
	says b exec one -- sh -c 'echo $A'
	says one exec one -- hostname

	n=$(coppicectl exec -D one -- sh -c \
	    'while echo x >>/tmp/n; do sleep 0.01; done')
	ctl pause one
	[ "$(field state one)" = paused ] || fail "it is not paused"
	exits 125 coppicectl exec one -- true
	grep -q 'coppicectl resume' err || fail "no advice: $(cat err)"
	ctl resume one
	ctl exec one -- sh -c 'a=$(wc -l </tmp/n); sleep 0.5; '\
'b=$(wc -l </tmp/n); [ "$b" -gt "$a" ]'
	ctl kill -s KILL one "$n"

	ctl exec one -- sh -c 'echo kept >/root/k'
	ctl stop one
	[ "$(field state one)" = stopped ] || fail "it is not stopped"
	exits 125 coppicectl exec one -- true
	grep -q 'coppicectl start' err || fail "no advice: $(cat err)"
	ctl start one
	says kept exec one -- cat /root/k

	ctl rename one two
	says two list -q
	ctl stop -g 0 two
	ctl start two
	says two exec two -- hostname
	ctl destroy two
	says "" list -q
	refused 'no sandbox' show two
	nothing_left
}

e2e_case refusals "what can't be done is told, with what to do"
refusals_body() {
	up
	ctl create -n one >/dev/null
	refused 'already a sandbox' create -n one
	refused 'a-z' create -n 'no such name'
	refused 'template list' create -t nothing
	refused 'doctor' create -b nothing
	refused 'is not a folder' create -w /etc/passwd
	refused 'find the folder' create -w /nonexistent
	exits 125 coppicectl exec two -- true
	grep -q 'coppicectl list' err || fail "it said $(cat err)"
	refused 'coppicectl list' destroy two
	refused 'share' undo one
	refused 'loopback' net set -N allowlist -a 127.0.0.1 one
	says one list -q
	daemon_kill
	exits 1 coppicectl list
	grep -q 'coppiced' err || fail "it said $(cat err)"
}

e2e_case deadlines "the reaper ends what is over, in the way it was told"
deadlines_body() {
	up
	ctl create -n gone -T 1 >/dev/null
	ctl create -n halted -T 1 -o stop >/dev/null
	ctl create -n frozen -T 1 -o pause >/dev/null
	ctl create -n longer -T 1 >/dev/null
	ctl timeout longer 1h >/dev/null
	await 50 sh -c '! coppicectl show gone >/dev/null 2>&1' ||
	    fail "it is still there"
	await 30 sh -c 'coppicectl list -q -s stopped | grep -qx halted' ||
	    fail "it was not stopped"
	await 30 sh -c 'coppicectl list -q -s paused | grep -qx frozen' ||
	    fail "it was not paused"
	says longer list -q -s running
	ctl timeout longer never >/dev/null
	ctl resume frozen
	says back exec frozen -- echo back
}

e2e_case copies "snapshot, template and clone carry the disk"
copies_body() {
	up
	ctl create -n one -e A=b >/dev/null
	ctl exec one -- sh -c 'echo data >/root/f; rm /etc/shells'
	ctl snapshot one shot >/dev/null
	ctl create -t shot -n two >/dev/null
	says data exec two -- cat /root/f
	exits 1 coppicectl exec two -- ls /etc/shells
	ctl clone -n three one >/dev/null
	says data exec three -- cat /root/f
	says b exec three -- sh -c 'echo $A'
	ctl exec three -- sh -c 'echo other >/root/f'
	says data exec one -- cat /root/f
	refused 'already' clone -n three one

	# Clones have a template of their own, which goes with them.
	ctl exec one -- touch /root/more
	ctl clone -n four one >/dev/null
	ctl destroy three four
	[ "$(coppicectl template list | wc -l)" -eq 3 ] ||
	    fail "$(coppicectl template list)"

	# A template that is removed goes with its last sandbox.
	ctl template remove shot
	says data exec two -- cat /root/f
	ctl stop two
	ctl start two
	ctl destroy two
	[ "$(find "$E2E/state/templates" -name root -prune -o -name manifest \
	    -print | wc -l)" -eq 1 ] ||
	    fail "$(ls "$E2E/state/templates")"
	ctl destroy -a
	nothing_left
}

e2e_case templates "build, list, export, import, remove"
templates_body() {
	up
	ctl template build tiny >h1
	ctl template list | grep -q tiny || fail "no tiny"
	ctl template export tiny t.tar
	tar tf t.tar | grep -q bin/busybox || fail "no busybox in it"
	ctl template import -n copy t.tar >h2
	cmp h1 h2 || fail "another hash"
	ctl template export copy >t2.tar
	cmp t.tar t2.tar || fail "the export differs"
	mkdir -p tree/bin tree/etc
	cp "$(command -v busybox)" tree/bin/sh
	echo mine >tree/etc/mark
	tar czf mine.tar.gz -C tree .
	ctl template import mine.tar.gz >/dev/null
	ctl create -t mine -n one >/dev/null
	says mine exec one -- sh -c 'while read l; do echo $l; done </etc/mark'
	ctl template remove mine copy
	ctl destroy one
	ctl template remove tiny
	ctl create -n two >/dev/null
	ctl template list | grep -q tiny || fail "tiny was not made"
	refused 'no template' template remove nothing
	echo junk >junk.tar
	refused . template import junk.tar
	refused . template build nothing
	ls "$E2E/state/templates/tmp" 2>/dev/null >left || :
	[ ! -s left ] || fail "left: $(cat left)"
}

e2e_case looking "doctor, events, logs, top, ps, version, JSON"
looking_body() {
	up
	ctl doctor >doc
	grep -q '^ok .*backend.ns' doc || fail "$(cat doc)"
	ctl create -n one >/dev/null
	coppicectl events -f >ev &
	await 50 test -s ev || :
	n=$(coppicectl exec -D one -- sh -c 'echo out; sleep 100')
	coppicectl ps one | grep -q "^ *$n .*sleep 100" ||
	    fail "$(coppicectl ps one)"
	ctl kill one "$n"
	await 50 grep -q "exit .*exec=$n .*signal=15" ev || fail "$(cat ev)"
	kill $!
	ctl events one | grep -q 'state=running' || fail "no event"
	ctl top -1 | grep -q '^[0-9a-f]* *one *running' || fail "top"
	ctl logs one >/dev/null
	ctl version | grep -q '1 sandboxes' || fail "version"
	for c in list "show one" "ps one" "top -1" doctor "net show" \
	    "template list" events version; do
		# shellcheck disable=SC2086
		coppicectl --libxo json $c >j || fail "$c"
		[ "$(head -c 1 j)$(tail -c 2 j)" = "{}" ] ||
		    fail "$c: no JSON: $(cat j)"
	done
}

atf_init_test_cases() {
	atf_add_test_case states
	atf_add_test_case refusals
	atf_add_test_case deadlines
	atf_add_test_case copies
	atf_add_test_case templates
	atf_add_test_case looking
}
