# SPDX-License-Identifier: BSD-2-Clause
#
# Sandboxes come and go, and nothing is left of any: not in the daemon, not
# in the kernel, not on disk.

. "$TEST_SRCDIR/e2e.subr"

daemon_proc() {
	inside cat "/proc/$(cat "$E2E/run/coppiced.pid")/$1"
}

# One line each: what, and how many.
measure() {
	pid=$(cat "$E2E/run/coppiced.pid")
	echo "fds $(inside ls "/proc/$pid/fd" | wc -l)"
	echo "threads $(inside ls "/proc/$pid/task" | wc -l)"
	echo "maps $(daemon_proc maps | grep -cv heap)"
	echo "processes $(inside ps -e --no-headers | grep -cv ' ps$')"
	# Those of others may go when their folders do.
	echo "mounts $(inside cat /proc/self/mountinfo |
	    grep -cE "$E2E|fuse|overlay" || :)"
	echo "interfaces $(inside ip -o link | wc -l)"
	echo "rules $(inside nft -s list ruleset | grep -vc counter)"
	echo "files $(find "$E2E/state" "$E2E/run" | wc -l)"
	echo "ranges $(known_ids | while read -r id; do
		find /run/coppice-ns -lname "$id"; done | wc -l)"
	echo "loops $(losetup -n -O BACK-FILE | grep -c "$E2E" || :)"
}

rss() {
	daemon_proc status | sed -n 's/VmRSS:[[:space:]]*\([0-9]*\) kB/\1/p'
}

# One sandbox from beginning to end, with a folder, a limited disk, a paused
# moment or a clone, some of each.
live() {
	case $(($1 % 10)) in
	1)	set -- "$1" -w "$PWD/w" ;;
	2)	set -- "$1" -D 8m ;;
	3)	set -- "$1" -N airgap ;;
	*)	set -- "$1" ;;
	esac
	name=l$1
	i=$1
	shift
	coppicectl create -n "$name" "$@" >/dev/null || return 1
	[ "$(coppicectl exec "$name" -- sh -c 'echo x >/tmp/f; cat /tmp/f')" \
	    = x ] || return 1
	case $((i % 10)) in
	1)	coppicectl exec "$name" -- sh -c "echo $i >/work/$i" &&
		    coppicectl undo "$name" >/dev/null || return 1 ;;
	4)	coppicectl pause "$name" && coppicectl resume "$name" ||
		    return 1 ;;
	5)	coppicectl stop "$name" && coppicectl start "$name" ||
		    return 1 ;;
	6)	coppicectl clone -n "c$name" "$name" >/dev/null &&
		    coppicectl destroy "c$name" || return 1 ;;
	esac
	coppicectl destroy "$name"
}

lives() {
	n=$1
	while [ "$n" -lt "$2" ]; do
		pids=
		for j in 1 2 3 4 5; do
			live $((n + j)) &
			pids="$pids $!"
		done
		for p in $pids; do
			wait "$p" || fail "one of the lives from $n failed"
		done
		n=$((n + 5))
	done
}

# A hundred; a thousand by kyua(1)'s -v test_suites.coppice.sandboxes=1000 .
e2e_case lives "sandboxes created, used and destroyed" 3600
lives_body() {
	mkdir w
	count=$(atf_config_get sandboxes 100)
	# Each thread's heap grows until it has seen some of everything.
	warm=$(((count / 5 + 30) / 5 * 5))
	up
	lives 0 $warm
	nothing_left
	sleep 6
	measure >before
	rss1=$(rss)
	lives $warm $((warm + count))
	nothing_left
	# Addresses rest for five seconds.
	sleep 6
	measure >after
	cat before
	diff before after || fail "leaked: $(diff before after)"
	rss2=$(rss)
	echo "rss: $rss1 KiB, then $rss2 KiB"
	[ $((rss2 - rss1)) -lt 2048 ] || fail "$rss1 KiB became $rss2 KiB"
}

atf_init_test_cases() {
	atf_add_test_case lives
}
