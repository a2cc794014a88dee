# SPDX-License-Identifier: BSD-2-Clause
#
# The daemon is killed in the middle of everything, with fifty sandboxes that
# know nothing of it.  Afterwards all of them are there, with their addresses
# and commands, and nothing else is.

. "$TEST_SRCDIR/e2e.subr"

BOXES=50

# Create b1, b2, ... at once; each runs a command that goes on.
populate() {
	i=0
	while [ $i -lt $BOXES ]; do
		pids=
		for j in 1 2 3 4 5; do
			n=$((i + j))
			{
				coppicectl create -n "b$n" >/dev/null &&
				    coppicectl exec -D "b$n" -- sh -c \
				    'while echo x >>/tmp/n; do sleep 1; done' \
				    >"e.$n"
			} &
			pids="$pids $!"
		done
		for p in $pids; do
			wait "$p" || fail "populate"
		done
		i=$((i + 5))
	done
	[ "$(coppicectl list -q -s running | wc -l)" -eq $BOXES ] ||
	    fail "$(coppicectl list)"
}

addresses() {
	coppicectl list -s running | sed 1d | grep ' b[0-9]' |
	    awk '{ print $2, $6 }' | sort
}

# Everything that there is of sandboxes, counted in the kernel and on disk,
# is what the daemon says there is.
sound_now() {
	{
		running=$(coppicectl list -q -s running | wc -l)
		all=$(coppicectl list -q | wc -l)
		nets=$(coppicectl list | sed 1d | awk '$6 != "-"' | wc -l)
		count running "$running" "$(inside ps -eo args |
		    grep -c '^coppice-shim --listen')"
		count interfaces "$nets" "$(inside ip -o link |
		    grep -cE ' cp[0-9a-f]{12}[@:]')"
		count chains "$nets" "$(inside nft list table inet coppice |
		    grep -cE 'chain sandbox-[0-9a-f]{12} ')"
		count records "$all" "$(ids | wc -l)"
		count runs "$running" "$(find "$E2E/run" -mindepth 1 \
		    -maxdepth 1 -type d -name '????????????????????????????????' |
		    wc -l)"
		count servers "$(inside ps -eo args |
		    grep -c '^[^ ]*coppicefsd .*-r')" \
		    "$(($(inside cat /proc/self/mountinfo |
		    grep -c "$E2E/run/.*fuse") * 2))"
		known_ids | while read -r id; do
			[ ! -d /sys/fs/cgroup/coppice/"$id" ] &&
			    [ ! -d /sys/fs/cgroup/pids/coppice/"$id" ] ||
			    echo "$id"
		done >"$E2E/groups"
		count groups "$running" "$(wc -l <"$E2E/groups")"
		addresses | awk '{ print $2 }' | sort | uniq -d
		coppicectl list -s creating -q
		coppicectl list -s stopping -q
	} >"$E2E/unsound"
	[ ! -s "$E2E/unsound" ]
}

count() {
	[ "$2" -eq "$3" ] || echo "$1: $2 told, $3 found"
}

sound() {
	await 100 sound_now || fail "$1: unsound: $(cat "$E2E/unsound")"
}

# All fifty run, where they were, and their commands go on.
all_there() {
	addresses >now
	cmp -s before now || fail "$1: $(diff before now)"
	n=$((n % BOXES + 1))
	coppicectl ps "b$n" | grep -q "^ *$(cat "e.$n") .*sleep 1" ||
	    fail "$1: the command of b$n: $(coppicectl ps "b$n")"
	says up exec "b$n" -- echo up
}

# Begin it, and kill the daemon after a while, another one each time.
die_in() {
	round=$(((round + 7) % 20))
	delay=$(printf '0.%03d' $((round * round / 3)))
	"$@" >op.out 2>&1 &
	op=$!
	sleep "$delay"
	daemon_kill
	wait $op || :
	daemon_start
	sound "$1 after $delay: $*"
	all_there "$*"
}

victim() {
	coppicectl destroy -g 0 x >/dev/null 2>&1 || :
	coppicectl destroy -g 0 y >/dev/null 2>&1 || :
	[ $# -eq 0 ] || ctl create -n x "$@" >/dev/null
}

# The moments differ; more of them are met by kyua(1)'s option
# -v test_suites.coppice.kill_rounds=10 .
e2e_case everything "kill -9 during each operation, 50 sandboxes" 3600
everything_body() {
	mkdir w
	echo 1 >w/f
	up
	populate
	addresses >before
	n=0 round=0 rounds=$(atf_config_get kill_rounds 1)
	while [ "$rounds" -gt 0 ]; do
		rounds=$((rounds - 1))
		die_in coppicectl list
		victim
		die_in coppicectl create -n x
		victim
		die_in coppicectl create -n x -w "$PWD/w"
		victim -w "$PWD/w"
		die_in coppicectl exec x -- sh -c 'echo 2 >/work/f; sleep 1'
		victim -w "$PWD/w"
		ctl exec x -- sh -c 'echo 3 >/work/f'
		die_in coppicectl undo x
		victim
		die_in coppicectl stop -g 0 x
		coppicectl start x >/dev/null 2>&1 || :
		die_in coppicectl pause x
		die_in coppicectl resume x
		coppicectl stop -g 0 x >/dev/null 2>&1 || :
		die_in coppicectl start x
		victim
		die_in coppicectl rename x y
		victim
		ctl create -n x >/dev/null
		die_in coppicectl net set -N airgap x
		die_in coppicectl timeout x 1h
		die_in coppicectl snapshot x shot
		die_in coppicectl clone -n y x
		head -c 3000000 /dev/zero >big
		die_in coppicectl cp big x:/tmp/big
		die_in coppicectl destroy -g 0 x
	done
	victim
	[ "$(coppicectl list -q -s running | wc -l)" -eq $BOXES ] ||
	    fail "$(coppicectl list)"
	# Half made trees of templates go as well.
	await 50 sh -c "[ -z \"\$(ls $E2E/state/templates/tmp)\" ]" ||
	    fail "$(ls "$E2E/state/templates/tmp")"
	ctl destroy -a -g 0
	nothing_left
}

e2e_case reattach "a command goes on without the daemon, nothing is lost"
reattach_body() {
	mkdir w
	up
	ctl create -n one -T 1h -w "$PWD/w" >/dev/null
	n=$(coppicectl exec -Di one -- sh -c 'i=0
	    while [ $i -lt 60 ]; do echo "line $i"; echo $i >/work/n
	    i=$((i + 1)); sleep 0.1; done; cat; exit 5')
	sleep 1
	daemon_kill
	sleep 1
	daemon_start
	await 50 sh -c "coppicectl ps one | grep -q '^ *$n '" || fail "ps"
	ret=0
	echo end | coppicectl attach -i one "$n" >out 2>err || ret=$?
	[ $ret -eq 5 ] || fail "exit $ret: $(cat out err)"
	{ seq 0 59 | sed 's/^/line /'; echo end; } >want
	cmp want out || fail "lost: $(diff want out)"
	# It was one step all the time.
	says "1 step undone" undo one
	[ ! -e w/n ] || fail "it was not undone"
	[ -n "$(field deadline one)" ] || fail "the deadline was forgotten"

	# What ends while nobody looks can be asked for.
	n=$(coppicectl exec -D one -- sh -c 'sleep 1; echo late; exit 6')
	daemon_kill
	sleep 2
	daemon_start
	exits 6 coppicectl attach one "$n"
	[ "$(cat out)" = late ] || fail "$(cat out)"
	# A deadline that passes meanwhile counts.
	ctl timeout one 1 >/dev/null
	daemon_kill
	sleep 1.5
	daemon_start
	await 100 sh -c '! coppicectl show one >/dev/null 2>&1' ||
	    fail "it lives on"
	# So does the end of a sandbox.
	ctl create -n two >/dev/null
	pid=$(field pid two)
	daemon_kill
	inside kill -KILL "$pid"
	daemon_start
	await 50 sh -c 'coppicectl list -q -s failed | grep -qx two' ||
	    fail "$(coppicectl list)"
	ctl start two
	says back exec two -- echo back
	ctl destroy -a
	nothing_left
}

atf_init_test_cases() {
	atf_add_test_case everything
	atf_add_test_case reattach
}
