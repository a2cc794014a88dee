# SPDX-License-Identifier: BSD-2-Clause
#
# Those who take more than their share hurt only themselves: their
# neighbours answer, and so does the daemon.

. "$TEST_SRCDIR/e2e.subr"

begin() {
	up
	ctl create -n calm >/dev/null
	ctl create -n hog -m 64m -c 0.5 -P 40 -F 64 "$@" >/dev/null
}

# Neighbour and daemon are there, soon, and the hog can still be ended.
unhurt() {
	for i in 1 2 3 4 5; do
		[ "$(timeout 10 coppicectl exec calm -- echo fine)" = fine ] ||
		    fail "the neighbour does not answer"
		timeout 10 coppicectl show hog >/dev/null ||
		    fail "the daemon does not answer"
	done
	rss=$(inside cat "/proc/$(cat "$E2E/run/coppiced.pid")/status" |
	    sed -n 's/VmRSS:[[:space:]]*\([0-9]*\) kB/\1/p')
	[ "$rss" -lt 65536 ] || fail "the daemon has $rss KiB"
}

ended() {
	timeout 30 coppicectl destroy hog || fail "it can't be ended"
	says calm list -q
	ctl destroy calm
	nothing_left
}

e2e_case forkbomb "a fork bomb"
forkbomb_body() {
	begin
	ctl exec -D hog -- sh -c 'b() { b | b & }; b; sleep 60' >/dev/null
	sleep 1
	unhurt
	procs=$(inside ps -e --no-headers | wc -l)
	[ "$procs" -lt 100 ] || fail "$procs processes"
	ended
}

e2e_case memory "a memory hog"
memory_body() {
	begin
	exits 137 timeout 60 coppicectl exec hog -- tail /dev/zero
	unhurt
	says again exec hog -- echo again
	exits 1 coppicectl exec hog -- sh -c \
	    'dd if=/dev/zero of=/dev/shm/f bs=1M count=500 2>/dev/null'
	unhurt
	ended
}

e2e_case disk "a disk filler"
disk_body() {
	begin -D 16m
	exits 1 coppicectl exec hog -- sh -c \
	    'dd if=/dev/zero of=/fill bs=1M count=100'
	grep -q 'No space' err || fail "$(cat out err)"
	exits 1 coppicectl exec hog -- sh -c \
	    'i=0; while mkdir /tmp/d$i; do i=$((i + 1)); done; exit 1'
	unhurt
	kib=$(du -sk "$E2E/state/sandboxes/$(field id hog)" | cut -f1)
	[ "$kib" -lt 32768 ] || fail "it has $kib KiB on disk"
	ended
}

# Nobody reads what it writes; and what is read, is read by nobody.
e2e_case spam "a spammer of output and logs"
spam_body() {
	begin
	ctl exec -D hog -- yes >/dev/null
	ctl exec -D hog -- sh -c 'yes >&2' >/dev/null
	coppicectl exec hog -- yes | { sleep 5; } &
	reader=$!

	mkdir -p t/bin
	cp "$(command -v busybox)" t/bin/busybox
	ln -s busybox t/bin/yes
	printf 'start = ["/bin/yes", "a line of a log that nobody wants"];\n' \
	    >t/.coppice
	tar cf t.tar -C t .coppice bin
	ctl template import -n spammer t.tar >/dev/null
	ctl create -n logger -c 0.5 -t spammer >/dev/null
	sleep 4
	unhurt
	kib=$(du -sk "$E2E/state/sandboxes/$(field id logger)" | cut -f1)
	[ "$kib" -lt 4096 ] || fail "logs have $kib KiB"
	ctl logs logger | head -n 1 | grep -q 'nobody wants' || fail "no log"
	kill $reader 2>/dev/null || :
	ctl destroy -g 0 logger
	ended
}

e2e_case descriptors "a hog of open files"
descriptors_body() {
	begin
	says 64 exec hog -- sh -c 'ulimit -n'
	exits 1 coppicectl exec hog -- sh -c 'ulimit -n 100000'
	exits 1 coppicectl exec hog -- sh -c \
	    'i=3; while [ $i -lt 500 ]; do eval "exec $i>/dev/null"; i=$((i + 1)); done'
	grep -q 'Too many open files' err || fail "$(cat err)"
	unhurt
	ended
}

# Without any option, too.
e2e_case defaults "limits of those who name none"
defaults_body() {
	up
	ctl create -n one >/dev/null
	says 16384 exec one -- sh -c 'ulimit -n'
	id=$(field id one)
	for f in /sys/fs/cgroup/coppice/"$id"/pids.max \
	    /sys/fs/cgroup/pids/coppice/"$id"/pids.max; do
		[ ! -f "$f" ] || cat "$f" >max
	done
	if [ "$(cat max)" -lt 1024 ] || [ "$(cat max)" -gt 1100 ]; then
		fail "pids.max is $(cat max)"
	fi
}

atf_init_test_cases() {
	atf_add_test_case forkbomb
	atf_add_test_case memory
	atf_add_test_case disk
	atf_add_test_case spam
	atf_add_test_case descriptors
	atf_add_test_case defaults
}
