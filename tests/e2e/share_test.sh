# SPDX-License-Identifier: BSD-2-Clause
#
# Shared folders: each command is a step, and steps can be taken back.

. "$TEST_SRCDIR/e2e.subr"

# A folder with some of everything, owned by nobody in particular.
furnish() {
	mkdir -p w/src/deep w/empty
	echo one >w/src/a
	echo two >w/src/deep/b
	head -c 300000 /dev/urandom >w/blob
	ln -s src/a w/link
	chmod 600 w/src/a
	touch -d '2001-02-03 04:05:06' w/src/deep/b
}

look() {
	(cd w && find . -printf '%P %y %m %u %g %s %l %T@\n' |
	    grep -v '^ *d\|/$' | sed '/ d /s/ [^ ]*$//' | sort &&
	    find . -type f -exec md5sum {} + | sort -k2) >"$1"
}

begin() {
	up
	furnish
	look before
	ctl create -n one -w "$PWD/w" >/dev/null
}

e2e_case undone "everything deleted, history, diff, undo, redo"
undone_body() {
	begin
	ctl safeguard set -d 0 one >/dev/null
	says one exec one -- cat /work/src/a
	ctl exec one -- sh -c 'rm -rf /work/* && echo new >/work/new'
	[ "$(ls w)" = new ] || fail "$(ls w)"
	look after
	ctl history one >h
	grep -q 'rm -rf' h || fail "$(cat h)"
	ctl diff one >d
	grep -q '^-one$' d || fail "$(cat d)"
	grep -q '^+new$' d || fail "$(cat d)"
	ctl diff -l one | grep -q 'deleted *file *src/deep/b' || fail "diff -l"
	says "1 step undone" undo one
	look undone
	diff before undone || fail "undo differs"
	ctl history -r one | grep -q 'rm -rf' || fail "nothing to redo"
	says "1 step done again" redo one
	look redone
	diff after redone || fail "redo differs"
	ctl undo one >/dev/null
	# Three steps at once.
	for i in 1 2 3; do
		ctl exec one -- sh -c "echo $i >>/work/src/a; echo $i >/work/$i"
	done
	says "3 steps undone" undo -n 3 one
	look undone
	diff before undone || fail "undo of three differs"
	# It survives a stop, and a start.
	ctl exec one -- rm -r /work/src
	ctl stop one
	ctl start one
	ctl undo one >/dev/null
	look undone
	diff before undone || fail "undo after a start differs"
	ctl destroy one
	[ -f w/src/a ] || fail "destroy took the folder"
	nothing_left
}

e2e_case owners "files are the sandbox's user's inside, the owner's outside"
owners_body() {
	world
	daemon_start
	ctl net setup -n
	mkdir w d
	echo x >w/f
	chmod 755 . "$E2E" w
	chown -R nobody w
	nobody=$(id -u nobody)
	ctl create -n one -w "$PWD/w" >/dev/null
	says "root root" exec one -- stat -c '%U %G' /work/f
	ctl exec one -- sh -c 'echo y >/work/g; chown 7:7 /work/g
	    mkdir /work/d; chmod 4755 /work/g'
	says "root 755" exec one -- stat -c '%U %a' /work/g
	[ "$(stat -c '%u %a' w/g)" = "$nobody 755" ] ||
	    fail "on the host: $(stat -c '%u %a' w/g)"
	[ "$(stat -c %u w/d)" = "$nobody" ] || fail "folder"
	ctl destroy one

	# Root's folder and another user inside.
	ctl create -n two -u user -w "$PWD/d" >/dev/null
	ctl exec two -- sh -c 'id -u; echo z >/work/h; chmod 6777 /work/h
	    stat -c "%U %a" /work/h; mkdir /work/e; tar cf /work/t /work/h' >out
	[ "$(stat -c '%u %a' d/h)" = "0 777" ] ||
	    fail "on the host: $(stat -c '%u %a' d/h)"
	grep -q 'user 777' out || fail "$(cat out)"
	exits 1 coppicectl exec two -- mknod /work/null c 1 3
}

e2e_case several "several folders, one of them read-only"
several_body() {
	up
	mkdir a b
	echo 1 >a/x
	echo 2 >b/y
	ctl create -n one -w "$PWD/a" -w "data=$PWD/b:ro" >/dev/null
	says 1 exec one -- cat /work/a/x
	says 2 exec one -- cat /work/data/y
	exits 1 coppicectl exec one -- sh -c 'echo no >/work/data/y'
	exits 1 coppicectl exec one -- rm /work/data/y
	ctl exec one -- rm /work/a/x
	ctl undo -w a one >/dev/null
	says 1 exec one -- cat /work/a/x
	[ "$(cat b/y)" = 2 ] || fail "the read-only folder changed"
}

e2e_case barriers "what somebody else changed is in the way of undo"
barriers_body() {
	begin
	ctl exec one -- sh -c 'echo x >/work/src/a'
	sleep 0.5
	echo mine >w/src/a
	await 30 sh -c 'coppicectl history one | grep -q "from outside"' ||
	    fail "no barrier: $(coppicectl history one)"
	refused '-f' undo one
	[ "$(cat w/src/a)" = mine ] || fail "it was overwritten"
	ctl undo -f one >/dev/null
	[ "$(cat w/src/a)" = one ] || fail "it was not undone: $(cat w/src/a)"
}

e2e_case safeguards "a safeguard holds, and waits for an answer"
safeguards_body() {
	begin
	ctl safeguard set -d 3 -T 60 one >/dev/null
	ctl exec one -- sh -c 'cd /work; touch 1 2 3 4 5 6'
	for answer in deny allow; do
		ret=0
		coppicectl exec one -- sh -c 'cd /work && rm 1 2 3 4 5 6' \
		    >out 2>&1 &
		pid=$!
		await 50 sh -c 'coppicectl --libxo json safeguard list one |
		    grep -q sg_' || fail "nothing is held: $(cat out)"
		id=$(coppicectl safeguard list one | grep -o 'sg_[0-9]*' | head -n 1)
		[ -e w/6 ] || fail "it did not wait"
		ctl safeguard "$answer" one "$id"
		wait $pid || ret=$?
		if [ $answer = deny ]; then
			[ $ret -ne 0 ] || fail "rm succeeded"
			[ -e w/1 ] || fail "it was not rolled back"
		else
			[ $ret -eq 0 ] || fail "rm failed: $(cat out)"
			[ ! -e w/6 ] || fail "nothing was deleted"
		fi
	done
	ctl undo one >/dev/null
	[ -e w/6 ] || fail "undo"
}

atf_init_test_cases() {
	atf_add_test_case undone
	atf_add_test_case owners
	atf_add_test_case several
	atf_add_test_case barriers
	atf_add_test_case safeguards
}
