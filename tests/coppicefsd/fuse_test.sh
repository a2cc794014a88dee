# SPDX-License-Identifier: BSD-2-Clause
#
# coppicefsd with a real mount here: steps, undo, redo, safeguards, and its
# beginning and end.

. "$TEST_SRCDIR/fsd.subr"

# case_of name: a test case that needs root and cleans up.
case_of() {
	eval "$(cat <<-EOT
	atf_test_case $1 cleanup
	$1_head() {
		atf_set require.user root
		atf_set timeout 300
	}
	$1_cleanup() {
		unprepare
	}
	EOT
	)"
}

# The worst command there is, undone.
case_of undo_rm
undo_rm_body() {
	mkdir dir
	furnish dir
	start_fuse
	look dir before
	step 1 rm -rf mnt/src mnt/empty
	[ -z "$(ls -A dir)" ] || fail "not removed: $(ls -A dir)"
	ask undo n=1
	grep -q '"event":"progress"' answer || fail "no progress"
	grep -q '"done_paths":\([0-9]*\),"total_paths":\1,' answer ||
	    fail "progress without end: $(cat answer)"
	look dir after
	same before after
	look mnt through
	same before through
	finish
	look dir ended
	same before ended
}

case_of redo
redo_body() {
	mkdir dir
	furnish dir
	start_fuse
	look dir before
	step 1 sh -c 'echo more >>mnt/src/file1; rm mnt/src/file2
	    mv mnt/src/file3 mnt/src/file4; mkdir mnt/new; echo n >mnt/new/f
	    chmod 600 mnt/src/file5; ln -s x mnt/new/l; >mnt/src/file6'
	look dir altered
	step 2 rm -r mnt/src
	look dir emptied
	ask undo n=2
	look dir after
	same before after
	ask redoable
	[ "$(grep -c '"event":"step"' answer)" -eq 2 ] ||
	    fail "not two to redo: $(cat answer)"
	ask redo n=1
	look dir again
	same altered again
	ask redo n=1
	look dir again2
	same emptied again2
	refused 4007 redo n=1
	finish
}

case_of changes_and_diff
changes_and_diff_body() {
	mkdir dir
	printf 'one\ntwo\nthree\n' >dir/text
	echo gone >dir/old
	start_fuse
	step 7 sh -c 'printf "one\n2\nthree\n" >mnt/text; rm mnt/old
	    echo x >mnt/new; mv mnt/new mnt/newer; chmod 600 mnt/text'
	ask changes id=7
	grep -q '"change":"modified","type":"file","path":"text"' answer ||
	    fail "text: $(cat answer)"
	grep -q '"change":"deleted","type":"file","path":"old"' answer ||
	    fail "old: $(cat answer)"
	grep -q '"change":"created","type":"file","path":"newer"' answer ||
	    fail "newer: $(cat answer)"
	grep -q '"count":3,' answer || fail "count: $(cat answer)"
	"$ctl" -w diff sock diff id=7 >answer || fail "$(cat answer)"
	for line in '^-two$' '^+2$' '^-gone$'; do
		grep -q "$line" diff || fail "$line: $(cat diff)"
	done
	refused 8006 diff id=7
	"$ctl" -w diff sock diff id=99 >answer && fail "a diff of nothing"
	refused 4001 changes id=99
	finish
}

# A diff into a pipe that nobody reads keeps nobody else waiting.
case_of stuck_diff
stuck_diff_body() {
	start_fuse
	step 1 sh -c 'seq 100000 >mnt/long'
	mkfifo pipe
	sh -c 'exec 3<pipe; sleep 60' &
	echo $! >>running
	"$ctl" -w pipe sock diff id=1 >diff.out &
	asker=$!
	echo $asker >>running
	sleep 1
	kill -0 $asker || fail "it was not stuck: $(cat diff.out)"
	step 2 sh -c 'echo x >mnt/more'
	ask undo n=1
	kill $asker
	wait $asker
	ask stats
	"$ctl" -w pipe sock diff id=1 >diff.out &
	echo $! >>running
	sleep 0.5
	finish
}

# An operation that is held goes on when it is allowed.
case_of safeguard_allow
safeguard_allow_body() {
	mkdir dir
	furnish dir
	start_fuse
	ask safeguard.set deletes=10 timeout_ms=20000
	ask step.begin id=1 name=rm
	"$ctl" -n 2 sock events >events.out &
	echo $! >>running
	rm -rf mnt/src &
	rm=$!
	echo $rm >>running
	i=0
	until grep -q '"event":"safeguard"' events.out; do
		i=$((i + 1))
		[ $i -lt 100 ] || fail "no safeguard: $(cat events.out)"
		sleep 0.1
	done
	kill -0 $rm || fail "it was not held"
	grep -q '"guard":"delete"' events.out || fail "$(cat events.out)"
	grep -q '"paths":\[".*"\]' events.out || fail "no samples"
	id=$(sed -n 's/.*"safeguard".*"id":"\([^"]*\)".*/\1/p' events.out)
	ask stats
	grep -q '"held":[1-9]' answer || fail "none held: $(cat answer)"
	ask safeguard.answer id="$id" allow=true
	wait $rm || fail "rm failed with $?"
	[ ! -e dir/src ] || fail "not removed"
	refused 6003 safeguard.answer id="$id" allow=true
	ask step.complete id=1
	finish
}

case_of safeguard_deny
safeguard_deny_body() {
	mkdir dir
	furnish dir
	start_fuse
	look dir before
	ask safeguard.set deletes=10 timeout_ms=20000
	ask step.begin id=1 name=rm
	"$ctl" -n 2 sock events >events.out &
	echo $! >>running
	rm -rf mnt/src 2>rm.err &
	rm=$!
	echo $rm >>running
	i=0
	until grep -q '"event":"safeguard"' events.out; do
		i=$((i + 1))
		[ $i -lt 100 ] || fail "no safeguard: $(cat events.out)"
		sleep 0.1
	done
	id=$(sed -n 's/.*"safeguard".*"id":"\([^"]*\)".*/\1/p' events.out)
	ask safeguard.answer id="$id" allow=false
	! wait $rm || fail "rm succeeded"
	grep -q 'not permitted' rm.err || fail "$(cat rm.err)"
	ask step.complete id=1
	look dir after
	same before after
	finish
}

case_of safeguard_timeout
safeguard_timeout_body() {
	mkdir dir
	furnish dir
	start_fuse -o deletes=10,timeout=700
	look dir before
	ask step.begin id=1 name=rm
	! rm -rf mnt/src 2>rm.err || fail "rm succeeded"
	grep -q 'not permitted' rm.err || fail "$(cat rm.err)"
	ask step.complete id=1
	look dir after
	same before after
	finish
}

# Nobody answers any more: an end does not wait for that.
case_of safeguard_end
safeguard_end_body() {
	mkdir dir
	furnish dir
	start_fuse -o deletes=10,timeout=60000
	look dir before
	ask step.begin id=1 name=rm
	rm -rf mnt/src 2>/dev/null &
	echo $! >>running
	i=0
	until "$ctl" sock stats | grep -q '"held":[1-9]'; do
		i=$((i + 1))
		[ $i -lt 100 ] || fail "nothing was held"
		sleep 0.1
	done
	t=$(date +%s)
	finish
	[ $(($(date +%s) - t)) -lt 10 ] || fail "it took too long"
	look dir after
	same before after
}

# Killed in a step: the next one finds the mount, the store and the step.
case_of killed
killed_body() {
	mkdir dir
	furnish dir
	start_fuse
	look dir before
	ask step.begin id=1 name=half
	rm -rf mnt/src/deep
	echo half >mnt/src/file1
	echo acknowledged >mnt/new
	kill -9 "$(cat pid)"
	wait "$(cat pid)"
	rm pid
	atf_check -s not-exit:0 -o ignore -e ignore ls mnt
	start_fuse
	look dir after
	same before after
	"$ctl" -n 1 sock events >events.out
	grep -q '"event":"recovery","step":1' events.out ||
	    fail "no word of it: $(cat events.out)"
	grep -q "dead server" err || fail "the mount was not stale"
	step 2 touch mnt/more
	finish
}

# What was acknowledged outside of a step, or in one that was final, stays.
case_of killed_kept
killed_kept_body() {
	start_fuse
	step 1 sh -c 'echo kept >mnt/a'
	kill -9 "$(server_pid)"
	wait "$(cat pid)"
	rm pid
	! mount | grep -q " $PWD/mnt " || fail "the mount was left"
	start_fuse
	atf_check -o inline:'kept\n' cat mnt/a
	ask undo n=1
	[ ! -e dir/a ] || fail "not undone"
	finish
}

case_of readonly
readonly_body() {
	mkdir dir
	echo x >dir/a
	start_fuse -o ro
	atf_check -o inline:'x\n' cat mnt/a
	atf_check -s not-exit:0 -e match:'Read-only' touch mnt/b
	refused 9004 step.begin id=1
	ask readonly on=false
	atf_check -s not-exit:0 -e match:'Read-only' rm mnt/a
	[ ! -e store ] || fail "a store for nothing"
	finish
	start_fuse
	atf_check touch mnt/b
	ask readonly on=true
	atf_check -s not-exit:0 -e match:'Read-only' rm mnt/b
	ask readonly on=false
	atf_check rm mnt/b
	refused 8006 readonly
	finish
}

# An end lets what has begun finish.
case_of sigterm
sigterm_body() {
	start_fuse
	dd if=/dev/zero of=mnt/big bs=1M count=64 2>/dev/null
	dd if=/dev/zero of=mnt/endless bs=64k 2>/dev/null &
	echo $! >>running
	sleep 0.5
	finish
	[ "$(stat -c %s dir/big)" -eq 67108864 ] || fail "cut"
	# Whatever was written is whole pieces.
	[ $(($(stat -c %s dir/endless) % 65536)) -eq 0 ] ||
	    fail "a piece of a write"
}

case_of stop_by_request
stop_by_request_body() {
	start_fuse
	echo x >mnt/a
	ask stop
	wait "$(cat pid)" || fail "it ended with $?"
	rm pid
	! mount | grep -q " $PWD/mnt " || fail "still mounted"
	atf_check -o inline:'x\n' cat dir/a
}

# Without -f it returns when it serves, or says why not.
case_of background
background_body() {
	mkdir dir mnt
	"$fsd" -r "$PWD/dir" -u "$PWD/store" -t "fuse:$PWD/mnt" \
	    -c "$PWD/sock" 2>err || fail "$(cat err)"
	mount | grep -q " $PWD/mnt " || fail "not mounted"
	echo x >mnt/a
	atf_check -s exit:1 -e match:'another process' "$fsd" -r "$PWD/dir" \
	    -t "9p:unix:$PWD/9p" -c "$PWD/sock"
	[ -S sock ] || fail "it took the other's socket away"
	mount | grep -q " $PWD/mnt " || fail "and its mount"
	ask stop
	i=0
	while [ -e sock ] || mount | grep -q " $PWD/mnt "; do
		i=$((i + 1))
		[ $i -lt 100 ] || fail "it does not end"
		sleep 0.1
	done
}

# Requests of two who know nothing of each other.
case_of two_controls
two_controls_body() {
	mkdir dir
	furnish dir
	start_fuse
	"$ctl" -n 3 sock events >one.out &
	one=$!
	"$ctl" -n 3 sock events >two.out &
	two=$!
	echo "$one $two" | tr ' ' '\n' >running
	i=0
	while ! grep -q subscribed one.out || ! grep -q subscribed two.out; do
		i=$((i + 1))
		[ $i -lt 100 ] || fail "not subscribed"
		sleep 0.1
	done
	ask step.begin id=1
	refused 4006 step.begin id=2
	refused 4006 undo n=1
	rm mnt/src/file1
	ask step.complete id=1
	final 1
	ask undo n=1
	wait $one && wait $two
	for f in one.out two.out; do
		for ev in step rollback; do
			grep -q "\"event\":\"$ev\",\"step\":1," $f ||
			    fail "$f: no $ev: $(cat $f)"
		done
	done
	finish
}

# Limits hold from the next operation on.
case_of limits
limits_body() {
	start_fuse
	ask limits max_step_count=3
	grep -q '"max_step_count":3,' answer || fail "$(cat answer)"
	for n in 1 2 3 4 5 6; do
		step $n sh -c "echo $n >mnt/f"
	done
	ask history
	[ "$(grep -c '"event":"step"' answer)" -eq 3 ] ||
	    fail "more than three: $(cat answer)"
	refused 4001 undo n=4
	ask undo n=3
	atf_check -o inline:'3\n' cat dir/f
	ask discard
	ask history
	grep -q '"count":0,' answer || fail "not discarded"
	finish
}

case_of abandon
abandon_body() {
	mkdir dir
	furnish dir
	start_fuse
	look dir before
	ask step.begin id=1 name=no
	rm -rf mnt/src
	ask step.abandon id=1
	look dir after
	same before after
	ask history
	grep -q '"count":0,' answer || fail "$(cat answer)"
	refused 4001 step.complete id=1
	finish
}

# Real work, as one step.
case_of work
work_head() {
	atf_set require.user root
	atf_set require.progs "git sqlite3"
	atf_set timeout 300
}
work_body() {
	mkdir dir
	furnish dir
	start_fuse
	look dir before
	cat >work.sh <<-'EOT'
	set -e
	cd mnt
	git init -q repo
	cd repo
	git config user.email a@b
	git config user.name n
	for i in $(seq 200); do echo $i >f$i; done
	git add .
	git commit -qm one
	git rm -q f1 f2
	git commit -qm two
	git gc -q
	git fsck --no-progress 2>/dev/null
	[ -z "$(git status --porcelain)" ]
	sqlite3 db 'pragma journal_mode=wal; create table t(x);
	    insert into t values(1); insert into t select x+1 from t;' \
	    >/dev/null
	[ "$(sqlite3 db 'select count(*) from t')" = 2 ]
	EOT
	step 1 sh work.sh
	[ "$(git -C dir/repo -c safe.directory='*' rev-list --count HEAD)" \
	    -eq 2 ] || fail "no commits"
	ask undo n=1
	look dir after
	same before after
	finish
}

atf_init_test_cases() {
	atf_add_test_case undo_rm
	atf_add_test_case redo
	atf_add_test_case changes_and_diff
	atf_add_test_case stuck_diff
	atf_add_test_case safeguard_allow
	atf_add_test_case safeguard_deny
	atf_add_test_case safeguard_timeout
	atf_add_test_case safeguard_end
	atf_add_test_case killed
	atf_add_test_case killed_kept
	atf_add_test_case readonly
	atf_add_test_case sigterm
	atf_add_test_case stop_by_request
	atf_add_test_case background
	atf_add_test_case two_controls
	atf_add_test_case limits
	atf_add_test_case abandon
	atf_add_test_case work
}
