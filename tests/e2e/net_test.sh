# SPDX-License-Identifier: BSD-2-Clause
#
# The network of sandboxes as they see it: a host of the LAN, one of the
# internet, the host itself and each other.

. "$TEST_SRCDIR/e2e.subr"

# The host has an uplink to a namespace that has the LAN host 192.168.9.2
# and, behind the same wire, 203.0.113.7 of the internet; both answer at
# port 80 with where they are.  The host itself answers at port 8080 of all
# its addresses.
lan() {
	unshare -n sleep 600 >/dev/null 2>&1 &
	echo $! >"$E2E/wire.held"
	lan_pid=$!
	await 50 sh -c "[ \"\$(readlink /proc/$lan_pid/ns/net)\" != \
	    \"\$(readlink /proc/self/ns/net)\" ]" || fail "no LAN"
	inside ip link add up0 type veth peer name lan0
	# Process numbers are the host's there, too, from outside.
	nsenter -t "$(cat "$E2E/init")" -n ip link set lan0 netns "$lan_pid"
	inside ip addr add 192.168.9.1/24 dev up0
	inside ip link set up0 up
	inside ip route add default via 192.168.9.2
	there ip link set lo up
	there ip addr add 192.168.9.2/24 dev lan0
	there ip addr add 203.0.113.7/32 dev lan0
	there ip link set lan0 up
	serve lan there 192.168.9.2 80
	serve net there 203.0.113.7 80
	serve host inside 0.0.0.0 8080
}

there() {
	nsenter -t "$(cat "$E2E/wire.held")" -n -- "$@"
}

# serve word where address port: answer with the word.
serve() {
	"$2" "$OBJTOP/tests/e2e/answer" "$3" "$4" "$1" >/dev/null 2>&1 &
	echo $! >"$E2E/$1.held"
}

# reaches sandbox address port word; shut sandbox address port
reaches() {
	got=$(coppicectl exec "$1" -- nc -w 3 "$2" "$3" 2>&1) ||
	    fail "$1 does not reach $2: $got"
	[ "$got" = "$4" ] || fail "$1 got \"$got\" from $2"
}

shut() {
	! got=$(coppicectl exec "$1" -- timeout 2 nc -w 2 "$2" "$3" 2>&1) ||
	    fail "$1 reaches $2: $got"
}

e2e_case modes "open, allowlist, airgap, disabled, and changes while it runs"
modes_body() {
	world
	lan
	daemon_start
	ctl net setup -n
	inside ping -c 1 -W 3 192.168.9.2 >/dev/null ||
	    fail "the host does not reach its LAN"
	ctl create -n one >/dev/null
	ctl create -n two >/dev/null
	ip2=$(field ip two)
	ctl exec -D two -- nc -ll -p 80 -e echo two >/dev/null
	await 30 coppicectl exec two -- nc -w 1 127.0.0.1 80 >/dev/null 2>&1 ||
	    fail "no server in two"

	reaches one 203.0.113.7 80 net
	shut one 192.168.9.2 80
	shut one 192.168.9.1 8080
	shut one 10.78.0.1 8080
	shut one 127.0.0.1 8080
	shut one "$ip2" 80

	ctl net set -N allowlist -a 192.168.9.2:80/tcp one
	reaches one 192.168.9.2 80 lan
	shut one 203.0.113.7 80
	ctl net set -a 203.0.113.0/24 one
	reaches one 203.0.113.7 80 net
	ctl net set -x 203.0.113.7 one
	shut one 203.0.113.7 80
	ctl net show one | grep -q '^deny 203.0.113.7$' || fail "net show"
	ctl net set -N airgap one
	shut one 192.168.9.2 80
	ctl net set -N disabled one
	shut one 203.0.113.7 80
	ctl net set -N open one
	reaches one 203.0.113.7 80 net

	# A policy is kept over a stop, and over the daemon's death.
	ctl net set -N airgap one
	ctl stop one
	ctl start one
	shut one 203.0.113.7 80
	daemon_kill
	daemon_start
	shut one 203.0.113.7 80
	ctl create -n none -N disabled >/dev/null
	shut none 203.0.113.7 80

	# Addresses are not given twice.
	coppicectl --libxo json list | grep -o '"ip": *"[0-9.]*"' | sort |
	    uniq -d >twice
	[ ! -s twice ] || fail "twice: $(cat twice)"
	refused 'in use\|attached' net teardown
	ctl destroy -a
	ctl net teardown
	inside ip -o link | grep -E 'coppicenet0|cubenet0' >left || :
	inside nft list tables | grep coppice >>left || :
	[ ! -s left ] || fail "left: $(cat left)"
}

e2e_case unset "without net setup, what to do is told"
unset_body() {
	world
	daemon_start
	refused 'coppicectl net setup' create
	ctl create -n one -N disabled >/dev/null
	says hello exec one -- echo hello
	ctl stop one
	ctl start one
	ctl destroy -a
	nothing_left
}

atf_init_test_cases() {
	atf_add_test_case modes
	atf_add_test_case unset
}
