# SPDX-License-Identifier: BSD-2-Clause
#
# What the server gives up, and that it serves as well without it.

. "$TEST_SRCDIR/fsd.subr"

cases=$OBJTOP/tests/libshare/posix_cases

case_of() {
	eval "$(cat <<-EOT
	atf_test_case $1 cleanup
	$1_head() {
		atf_set require.user root
		atf_set timeout 600
	}
	$1_cleanup() {
		unprepare
	}
	EOT
	)"
}

# status field: of the process that serves.
status() {
	sed -n "s/^$1:[[:space:]]*//p" "/proc/$(server_pid)/status"
}

# differs namespace
differs() {
	[ "$(readlink "/proc/$(server_pid)/ns/$1")" != \
	    "$(readlink "/proc/self/ns/$1")" ] || fail "the same $1 namespace"
}

case_of confined
confined_body() {
	start_fuse
	[ "$(status Seccomp)" = 2 ] || fail "no filter"
	[ "$(status NoNewPrivs)" = 1 ] || fail "new privileges"
	for set in CapInh CapPrm CapEff CapBnd CapAmb; do
		[ "$(status $set)" = 0000000000000000 ] ||
		    fail "$set: $(status $set)"
	done
	differs mnt
	differs net
	root=/proc/$(server_pid)/root
	[ "$(ls "$root/")" = "$(printf 'dev\nproc')" ] ||
	    fail "it sees $(ls "$root/")"
	[ "$(ls "$root/dev")" = fuse ] || fail "it sees $(ls "$root/dev")"
	! touch "$root/x" 2>/dev/null || fail "it could write there"
	finish
}

# With the caller's identity: what that needs, and nothing else.
case_of caller
caller_body() {
	mkdir dir
	chmod 777 dir
	start_fuse -o caller
	# chown, dac_override, dac_read_search, fowner, fsetid, setgid, setuid
	[ "$(status CapEff)" = 00000000000000df ] || fail "$(status CapEff)"
	[ "$(status CapBnd)" = 00000000000000df ] || fail "$(status CapBnd)"
	[ "$(status Seccomp)" = 2 ] || fail "no filter"
	setpriv --reuid=4711 --regid=4712 --clear-groups \
	    sh -c 'echo x >mnt/mine' || fail "not allowed"
	[ "$(stat -c %u:%g dir/mine)" = 4711:4712 ] ||
	    fail "$(stat -c %u:%g dir/mine)"
	finish
}

case_of mapped
mapped_body() {
	mkdir dir
	chown 100000:100000 dir
	start_fuse -o caller,map=0:100000:65536
	echo x >mnt/root
	[ "$(stat -c %u:%g dir/root)" = 100000:100000 ] ||
	    fail "$(stat -c %u:%g dir/root)"
	[ "$(stat -c %u:%g mnt/root)" = 0:0 ] || fail "not root there"
	finish
}

case_of user
user_body() {
	mkdir dir
	chmod 755 .
	chown nobody dir
	start_fuse -U nobody
	[ "$(status Uid | cut -f 1)" = "$(id -u nobody)" ] ||
	    fail "$(status Uid)"
	[ "$(status CapEff)" = 0000000000000000 ] || fail "$(status CapEff)"
	[ -z "$(status Groups | tr -d ' ')" ] || fail "$(status Groups)"
	echo x >mnt/a 2>/dev/null || fail "not served"
	[ "$(stat -c %U dir/a)" = nobody ] || fail "$(stat -c %U dir/a)"
	echo secret >dir/secret
	chmod 600 dir/secret
	atf_check -s not-exit:0 -o empty -e ignore cat mnt/secret
	atf_check -s exit:1 -e match:'no such user' "$fsd" -f \
	    -r "$PWD/dir" -t "9p:unix:$PWD/9p" -U nobody.at.all
	finish
}

# One who is not allowed to: the socket's mode, and who is asking.
case_of strangers
strangers_body() {
	chmod 755 .
	start_fuse
	setpriv --reuid=65534 --regid=65534 --clear-groups \
	    "$ctl" sock stats >out 2>&1 && fail "let in: $(cat out)"
	chmod 666 sock
	setpriv --reuid=65534 --regid=65534 --clear-groups \
	    "$ctl" sock stats >out 2>&1 && fail "let in: $(cat out)"
	[ ! -s out ] || fail "it said: $(cat out)"
	grep -q 'was refused' err || fail "no word of it in the log"
	ask stats
	finish
}

# A call that the filter does not know is death: nothing makes one.
posix() {
	eval "$(cat <<-EOT
	case_of $1
	$1_body() {
		compare $2
	}
	EOT
	)"
}

compare() {
	mkdir native
	"$cases" native >native.out
	start_fuse -o seccomp=kill,caller,devices,suid "$@"
	"$cases" mnt >mnt.out
	ask stats
	finish
	[ "$(grep -c '^pass' mnt.out)" -gt 350 ] ||
	    fail "$(grep -c '^pass' mnt.out) passed"
	sed -n 's/^FAIL //p' mnt.out >failed
	while read -r c; do
		grep -q "^pass $c$" native.out || continue
		case $c in
		# What the kernel's FUSE can't by itself.
		falloc_collapse | falloc_insert) ;;
		# The protocol does not tell supplementary groups.
		perm_group | chmod_setgid_in_group | chown_own_group)
			[ "$*" = "-o check,watch=none" ] ||
			    fail "fails in the mount: $c" ;;
		*) fail "fails in the mount: $c" ;;
		esac
	done <failed
}

posix posix_fanotify "-o watch=fanotify"
posix posix_inotify "-o watch=inotify"
posix posix_checks "-o check,watch=none"

# Names that lead out: whoever follows, the server does not.
case_of escape
escape_body() {
	mkdir dir
	echo outside >canary
	stat -c '%x %y %z' canary >canary.before
	start_fuse
	ln -s ../canary mnt/link
	ln -s "$PWD" mnt/up
	ln -s /proc/self/root mnt/magic
	atf_check -o inline:'../canary\n' readlink mnt/link
	ls -lR mnt >/dev/null
	tar -C mnt -cf /dev/null .
	cp -a mnt/link mnt/link2
	mv mnt/link mnt/link3
	# A hard link from outside has no way in.
	! ln canary mnt/hard 2>/dev/null || fail "linked"
	step 1 rm -rf mnt/link2 mnt/link3 mnt/up mnt/magic
	ask undo n=1
	[ -L dir/up ] || fail "not restored"
	ask step.begin id=2 name=device
	! mknod mnt/null c 1 3 2>/dev/null || fail "a device"
	ask step.complete id=2
	stat -c '%x %y %z' canary >canary.after
	cmp canary.before canary.after || fail "it was touched"
	finish
}

atf_init_test_cases() {
	[ "$(uname)" = Linux ] || return 0
	atf_add_test_case confined
	atf_add_test_case caller
	atf_add_test_case mapped
	atf_add_test_case user
	atf_add_test_case strangers
	atf_add_test_case posix_fanotify
	atf_add_test_case posix_inotify
	atf_add_test_case posix_checks
	atf_add_test_case escape
}
