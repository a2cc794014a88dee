# SPDX-License-Identifier: BSD-2-Clause
#
# Who changed it?  What comes from outside makes a barrier, what comes
# through the server never does; by every means that this system has.

. "$TEST_SRCDIR/fsd.subr"

# The default number of operations in a storm; "kyua -v
# test_suites.coppice.storm=100000 test" does more.
STORM=10000

case $(uname) in
Linux)	kinds="fanotify inotify" ;;
*)	kinds="kqueue" ;;
esac

# For each means, the cases as functions of it.
for k in $kinds; do
	for c in external paths storm undo_quiet lock warn deep; do
		eval "$(cat <<-EOT
		atf_test_case ${c}_$k cleanup
		${c}_${k}_head() {
			atf_set require.user root
			atf_set timeout 600
		}
		${c}_${k}_body() {
			do_$c $k
		}
		${c}_${k}_cleanup() {
			unprepare
		}
		EOT
		)"
	done
done

now_ms() {
	echo $(($(date +%s%N) / 1000000))
}

# An edit of the user's own is not lost by an undo.
do_external() {
	mkdir dir
	echo A >dir/foo
	start_fuse -o watch="$1"
	grep -q "\"kind\":\"$1\"" stats.out || fail "$(cat stats.out)"
	step 1 sh -c 'echo B >mnt/foo'
	[ "$(barriers)" -eq 0 ] || fail "a barrier for nothing"
	sleep 3
	t=$(now_ms)
	echo C >dir/foo
	until [ "$(barriers)" -gt 0 ]; do
		[ $(($(now_ms) - t)) -lt 1000 ] || fail "no barrier"
		sleep 0.02
	done
	ask history
	grep -q '"event":"barrier".*"paths":\["foo"\]' answer ||
	    fail "$(cat answer)"
	refused 4002 undo n=1
	grep -q '"what":"foo"' answer || fail "$(cat answer)"
	atf_check -o inline:'C\n' cat dir/foo
	ask undo n=1 force=true
	atf_check -o inline:'A\n' cat dir/foo
	finish
}

# Whatever it is that changes, it is named.
do_paths() {
	mkdir -p dir/a/b
	for f in data append mode gone from; do
		echo x >dir/a/b/$f
	done
	start_fuse -o watch="$1"
	mkdir -p mnt/made/in
	sleep 3
	"$ctl" -t 5 sock events >events.out &
	echo $! >>running
	sleep 0.3
	echo y >dir/a/b/data
	echo y >>dir/a/b/append
	chmod 600 dir/a/b/mode
	rm dir/a/b/gone
	mv dir/a/b/from dir/a/b/to
	mkdir dir/a/new
	sleep 0.5
	echo z >dir/a/new/file
	echo z >dir/made/in/file
	mv dir/a/b dir/a/moved
	sleep 0.5
	echo z >dir/a/moved/late
	sleep 1
	for p in a/b/data a/b/append a/b/mode a/b/gone a/b/from a/b/to \
	    a/new a/new/file made/in/file a/moved a/moved/late; do
		grep '"event":"barrier"' events.out | grep -q "\"$p\"" ||
		    fail "$p is not told: $(cat events.out)"
	done
	finish
}

# Our own operations are ours, however many.
do_storm() {
	n=$(atf_config_get storm $STORM)
	start_fuse -o "watch=$1,steps=10,step=4g,log=8g"
	ask step.begin id=1 name=storm
	cat >storm.sh <<-'EOT'
	i=0
	while [ $i -lt $1 ]; do
		d=$2/d$((i / 500))
		[ -d $d ] || mkdir $d
		echo $i >$d/f
		ln $d/f $d/g
		echo more >>$d/g
		mv $d/f $d/h$i
		rm $d/g
		i=$((i + 5))
	done
	mv $2/d0 $2/renamed
	echo x >$2/renamed/x
	rm -r $2/renamed
	EOT
	# Two at a time, as clients are.
	mkdir mnt/one mnt/two
	sh storm.sh $((n / 2)) mnt/one &
	one=$!
	echo $one >>running
	sh storm.sh $((n / 2)) mnt/two || fail "the storm failed"
	wait $one || fail "the storm failed"
	rm -r mnt/one
	ask step.complete id=1
	final 1
	sleep 3
	ask stats
	grep -q '"overflows":0}' answer || fail "$(cat answer)"
	grep -q '"external":0,' answer || fail "$(cat answer)"
	m=$(sed -n 's/.*"mutations":\([0-9]*\).*/\1/p' answer)
	[ "$m" -ge "$n" ] || fail "only $m operations"
	[ "$(barriers)" -eq 0 ] || fail "a barrier: $("$ctl" sock history)"
	ask undo n=1
	[ -z "$(ls -A dir)" ] || fail "left: $(ls dir)"
	sleep 1
	[ "$(barriers)" -eq 0 ] || fail "a barrier by the undo"
	finish
}

# Nor is what an undo, a redo or a denial does.
do_undo_quiet() {
	mkdir dir
	furnish dir
	start_fuse -o watch="$1",timeout=500
	step 1 rm -rf mnt/src
	ask undo n=1
	ask redo n=1
	ask undo n=1
	ask safeguard.set deletes=5
	ask step.begin id=2 name=rm
	! rm -rf mnt/src 2>/dev/null || fail "not denied"
	ask step.complete id=2
	ask step.begin id=3 name=rm
	rm mnt/src/file1
	ask step.abandon id=3
	sleep 4
	[ "$(barriers)" -eq 0 ] || fail "a barrier: $("$ctl" sock history)"
	echo x >dir/src/file1
	barrier_within 10
	finish
}

do_lock() {
	mkdir dir
	echo x >dir/a
	start_fuse -o watch="$1",policy=lock
	step 1 sh -c 'echo y >mnt/a'
	sleep 3
	echo z >dir/b
	barrier_within 10
	atf_check -s not-exit:0 -e match:'Read-only' touch mnt/c
	ask stats
	grep -q '"readonly":true' answer || fail "$(cat answer)"
	ask readonly on=false
	atf_check touch mnt/c
	finish
}

do_warn() {
	mkdir dir
	echo x >dir/a
	start_fuse -o watch="$1",policy=warn
	step 1 sh -c 'echo y >mnt/a'
	sleep 3
	"$ctl" -t 3 sock events >events.out &
	echo $! >>running
	sleep 0.3
	echo z >dir/b
	sleep 1
	grep -q '"event":"barrier".*"b"' events.out ||
	    fail "no warning: $(cat events.out)"
	ask undo n=1
	atf_check -o inline:'x\n' cat dir/a
	finish
}

# Directories that are made, moved and removed by both sides.
do_deep() {
	start_fuse -o watch="$1"
	mkdir -p mnt/a/b/c/d
	mv mnt/a/b mnt/x
	mv mnt/x/c mnt/a/c2
	rm -r mnt/x
	mkdir -p mnt/x/c
	sleep 3
	[ "$(barriers)" -eq 0 ] || fail "a barrier: $("$ctl" sock history)"
	"$ctl" -t 3 sock events >events.out &
	echo $! >>running
	sleep 0.3
	echo z >dir/a/c2/d/file
	echo z >dir/x/c/file
	sleep 1
	for p in a/c2/d/file x/c/file; do
		grep '"event":"barrier"' events.out | grep -q "\"$p\"" ||
		    fail "$p is not told: $(cat events.out)"
	done
	ask stats
	grep -q '"directories":6,' answer || fail "$(cat answer)"
	finish
}

# More than the system remembers for us: nobody knows what it was.
atf_test_case overflow cleanup
overflow_head() {
	atf_set require.user root
	atf_set timeout 120
}
overflow_body() {
	n=$(cat /proc/sys/fs/inotify/max_queued_events) ||
	    atf_skip "no such limit here"
	[ "$n" -le 100000 ] || atf_skip "the limit is too high"
	start_fuse -o watch=inotify
	step 1 touch mnt/a
	pid=$(server_pid)
	kill -STOP "$pid"
	seq "$((n + 1000))" | (cd dir && xargs touch)
	kill -CONT "$pid"
	barrier_within 100
	ask stats
	grep -q '"overflows":[1-9]' answer || fail "$(cat answer)"
	refused 4002 undo n=1
	finish
}
overflow_cleanup() {
	unprepare
}

# Without privileges the system still tells what was our own.
atf_test_case unprivileged cleanup
unprivileged_head() {
	atf_set require.user root
	atf_set require.progs setpriv
}
unprivileged_body() {
	mkdir dir
	echo x >dir/a
	chown -R 65534:65534 . dir
	chmod 755 .
	setpriv --reuid=65534 --regid=65534 --clear-groups "$fsd" -f \
	    -r "$PWD/dir" -u "$PWD/store" -t "9p:unix:$PWD/9p" \
	    -c "$PWD/sock" 2>err &
	echo $! >pid
	i=0
	until "$ctl" sock stats >stats.out 2>/dev/null; do
		i=$((i + 1))
		[ $i -lt 50 ] || fail "it does not answer: $(cat err)"
		sleep 0.1
	done
	grep -q '"kind":"fanotify"' stats.out || atf_skip "$(cat stats.out)"
	echo y >dir/a
	barrier_within 10
	kill "$(cat pid)"
	wait "$(cat pid)" || fail "it ended with $?: $(cat err)"
	rm pid
}
unprivileged_cleanup() {
	unprepare
}

atf_init_test_cases() {
	for k in $kinds; do
		for c in external paths storm undo_quiet lock warn deep; do
			atf_add_test_case "${c}_$k"
		done
	done
	if [ "$(uname)" = Linux ]; then
		atf_add_test_case overflow
		atf_add_test_case unprivileged
	fi
}
