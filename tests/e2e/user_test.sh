# SPDX-License-Identifier: BSD-2-Clause
#
# Who may do what: others than root see and touch only what is theirs, and
# only if the configuration lets them in at all.

. "$TEST_SRCDIR/e2e.subr"

as() {
	as_user=$1
	shift
	setpriv --reuid "$as_user" --regid "$(id -g "$as_user")" \
	    --clear-groups -- "$@"
}

begin() {
	world
	chmod 755 . "$E2E"
	echo "control { open = $1 }" >"$E2E/coppice.conf"
	daemon_start
	ctl net setup -n
}

e2e_case theirs "users have sandboxes of their own, and no others"
theirs_body() {
	begin true
	ctl create -n roots >/dev/null
	exits 0 as daemon coppicectl create -n his
	exits 0 as nobody coppicectl create -n hers
	[ "$(coppicectl list -q | sort | tr '\n' ' ')" = "hers his roots " ] ||
	    fail "$(coppicectl list)"
	[ "$(as daemon coppicectl list -q)" = his ] ||
	    fail "he sees $(as daemon coppicectl list)"
	exits 0 as daemon coppicectl exec his -- true
	exits 125 as daemon coppicectl exec hers -- true
	for c in show destroy stop pause history ps logs; do
		for b in hers roots "$(field id hers)"; do
			exits 1 as daemon coppicectl "$c" "$b"
			grep -q 'no sandbox' err || fail "$c: $(cat err)"
		done
	done
	exits 1 as daemon coppicectl rename hers mine
	exits 1 as daemon coppicectl cp hers:/etc/passwd .
	exits 1 as daemon coppicectl net set -N open hers
	exits 1 as daemon coppicectl clone hers
	# What is the host's is the administrator's.
	exits 1 as daemon coppicectl net teardown
	exits 1 as daemon coppicectl template remove tiny
	exits 1 as daemon coppicectl template import /etc/hosts
	exits 1 as daemon coppicectl snapshot his tiny
	grep -q 'another name' err || fail "$(cat err)"
	exits 0 as daemon coppicectl snapshot his his-disk
	as daemon coppicectl events >ev || fail "events"
	! grep -q 'hers\|roots' ev || fail "he hears of others: $(cat ev)"

	# Folders that are theirs, with their rights and no more.
	mkdir mine
	chown daemon mine
	mkdir -m 755 not
	echo secret >not/s
	chmod 600 not/s
	exits 1 as daemon coppicectl create -w "$PWD/not"
	exits 1 as daemon coppicectl create -w /etc
	exits 0 as daemon coppicectl create -n with -w "$PWD/mine"
	exits 0 as daemon coppicectl exec with -- sh -c 'echo x >/work/f'
	[ "$(stat -c %U mine/f)" = daemon ] || fail "owner"
	cp not/s mine/s
	chmod 600 mine/s
	exits 1 as daemon coppicectl exec with -- cat /work/s
	exits 0 as daemon coppicectl destroy -a
	[ "$(coppicectl list -q | sort | tr '\n' ' ')" = "hers roots " ] ||
	    fail "he destroyed what is not his: $(coppicectl list)"
}

e2e_case closed "without control.open, only administrators get in"
closed_body() {
	begin false
	exits 1 as daemon coppicectl list
	grep -q 'control.open\|coppice' err || fail "$(cat err)"
	ctl create -n one >/dev/null
	says one list -q
}

atf_init_test_cases() {
	atf_add_test_case theirs
	atf_add_test_case closed
}
