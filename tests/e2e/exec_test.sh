# SPDX-License-Identifier: BSD-2-Clause
#
# Commands in a sandbox: how they begin, what passes through, how they end.

. "$TEST_SRCDIR/e2e.subr"

begin() {
	up
	ctl create -n one >/dev/null
}

e2e_case status "the exit status is that of the command"
status_body() {
	begin
	exits 0 coppicectl exec one -- true
	exits 7 coppicectl exec one -- sh -c 'exit 7'
	exits 255 coppicectl exec one -- sh -c 'exit 255'
	exits 137 coppicectl exec one -- sh -c 'kill -9 $$'
	exits 127 coppicectl exec one -- /no/such/program
	exits 126 coppicectl exec one -- /etc/passwd
	exits 124 coppicectl exec -T 1 one -- sleep 60
	exits 125 coppicectl exec nobody -- true
	exits 126 coppicectl exec -d /no/such/folder one -- true
	exits 126 coppicectl exec -u nosuchuser one -- true
}

e2e_case surroundings "user, directory, environment, arguments"
surroundings_body() {
	begin
	says "uid=1000(user) gid=1000(user) groups=1000(user)" \
	    exec -u user one -- id
	says 1000 exec -u 1000:1000 one -- id -g
	says /var/tmp exec -d /var/tmp one -- pwd
	says "a b" exec -e "X=a b" one -- sh -c 'echo "$X"'
	says "$(printf 'a b\n-n\n*')" exec one -- \
	    printf '%s\n' 'a b' -n '*'
	says /root exec one -- sh -c 'echo ~'
	says /home/user exec -u user one -- sh -c 'echo ~'
	says "" exec one -- sh -c 'ls /proc/self/fd | tail -n +5'
}

e2e_case streams "standard input, output and error, large and binary"
streams_body() {
	begin
	says data exec -i one -- cat <<-EOT
	data
	EOT
	coppicectl exec one -- cat </dev/zero >out || fail "cat"
	[ ! -s out ] || fail "input without -i"
	coppicectl exec one -- sh -c 'echo o; echo e >&2' >out 2>err ||
	    fail "two streams"
	[ "$(cat out)/$(cat err)" = o/e ] || fail "mixed: $(cat out)/$(cat err)"
	head -c 30000000 /dev/urandom >big
	coppicectl exec -i one -- cat <big >back || fail "cat"
	cmp big back || fail "what came back is something else"
	coppicectl exec -i one -- sh -c 'cat >&2' <big 2>back >out ||
	    fail "cat to standard error"
	cmp big back || fail "standard error is something else"
	# A reader that is slow, and one that goes away.
	coppicectl exec one -- sh -c 'yes | head -c 5000000' |
	    { sleep 1; wc -c; } >n
	[ "$(cat n)" -eq 5000000 ] || fail "lost: $(cat n)"
	coppicectl exec one -- yes | head -n 1 >/dev/null
	await 50 sh -c '! coppicectl ps one | grep -q yes' || {
		coppicectl ps one
		fail "it goes on for nobody"
	}
}

e2e_case terminals "a terminal: size, signals, control characters"
terminals_body() {
	begin
	# ptyrun gives coppicectl a terminal of its own.
	exits 4 ptyrun -r 33 -w '# ' -i "$(printf 'tty; stty size\r')" \
	    -w 33 -i "$(printf 'exit 4\r')" coppicectl shell one
	grep -q /dev/pts/ out || fail "no terminal: $(cat out)"
	grep -q 'terminal: same' out || fail "it was left in a mess"
	exits 130 ptyrun -w ready -i "$(printf '\003')" \
	    coppicectl exec -it one -- sh -c 'echo ready; exec sleep 60'
	exits 0 ptyrun -w ready -i "$(printf '\035d')" \
	    coppicectl exec -it one -- sh -c 'echo ready; exec sleep 60'
	grep -q detached out || fail "not detached: $(cat out)"
	coppicectl ps one | grep -q sleep || fail "it does not go on"
	coppicectl exec -t one -- sh -c 'test -t 0 && test -t 1 && echo tty' \
	    </dev/null >out || fail "exec -t: $(cat out)"
	exits 1 coppicectl exec one -- test -t 0
}

e2e_case signals "a signal to coppicectl goes to the command"
signals_body() {
	begin
	coppicectl exec one -- sh -c \
	    'trap "echo got; exit 9" TERM; echo up; while :; do sleep 0.1; done' \
	    >out 2>&1 &
	pid=$!
	await 100 grep -q up out || fail "it did not start: $(cat out)"
	kill -TERM $pid
	ret=0
	wait $pid || ret=$?
	[ $ret -eq 9 ] || fail "exit $ret: $(cat out)"
	grep -q got out || fail "$(cat out)"
	n=$(coppicectl exec -D one -- sh -c 'sleep 1000 & wait')
	ctl kill -s TERM one "$n"
	await 50 sh -c '! coppicectl exec one -- pidof sleep >/dev/null' ||
	    fail "its child goes on"
}

e2e_case apart "commands that run by themselves, and attach"
apart_body() {
	begin
	n=$(coppicectl exec -D one -- sh -c 'echo early; sleep 1; echo late; exit 3')
	exits 3 coppicectl attach one "$n"
	[ "$(cat out)" = "$(printf 'early\nlate')" ] || fail "$(cat out)"
	n=$(coppicectl exec -Di one -- cat)
	echo through | coppicectl attach -i one "$n" >out || fail "attach -i"
	[ "$(cat out)" = through ] || fail "$(cat out)"
	refused 'coppicectl ps' kill one 4711
	# Many at once.
	for i in 1 2 3 4 5 6 7 8; do
		coppicectl exec one -- sh -c "sleep 0.2; echo $i" >o.$i &
		pids="${pids:-} $!"
	done
	for p in $pids; do
		wait "$p" || fail "one of many: $?"
	done
	[ "$(cat o.*)" = "$(seq 8)" ] || fail "$(cat o.*)"
}

e2e_case files "cp of files and folders, both ways"
files_body() {
	begin
	head -c 20000000 /dev/urandom >big
	chmod 640 big
	ctl cp big one:/tmp/
	says "640 20000000" exec one -- stat -c '%a %s' /tmp/big
	ctl cp one:/tmp/big back
	cmp big back || fail "another file came back"
	mkdir -p tree/a/b
	echo x >"tree/a/b/name with spaces"
	ln -s ../a tree/a/link
	: >tree/empty
	ctl cp -r tree one:/root
	ctl cp -r one:/root/tree tree2
	diff -r --no-dereference tree tree2 || fail "the tree differs"
	echo in | coppicectl cp - one:/tmp/in || fail "cp -"
	says in cp one:/tmp/in -
	ctl cp -u user big one:/home/user/big
	says user exec one -- stat -c %U /home/user/big
	refused . cp one:/no/such/file x
	[ ! -e x ] || fail "a failed copy left a file"
	refused . cp -u user big one:/root/big
}

atf_init_test_cases() {
	atf_add_test_case status
	atf_add_test_case surroundings
	atf_add_test_case streams
	atf_add_test_case terminals
	atf_add_test_case signals
	atf_add_test_case apart
	atf_add_test_case files
}
