# SPDX-License-Identifier: BSD-2-Clause
#
# Machines with a kernel of their own, in QEMU without acceleration, that boot
# from an initrd of coppice-mkinitrd and mount our folders.

here=$OBJTOP/tests/guest
image=$TEST_SRCDIR/../../guest/image

# What the kernel's virtio-fs can't by itself, whatever the server: two modes
# of fallocate(2); interrupting a request; before Linux 6.6, mapping a file
# shared that is opened without a cache.
virtiofs_kernel="falloc_collapse falloc_insert lock_interrupted
	mmap_shared_write mmap_shared_write_munmap mmap_shared_read_only
	mmap_sees_write mmap_two_processes"

# And what its 9P can't: there is no message for fallocate(2), holes, files
# without names and flags of rename(2); flock(2) is made a record lock of the
# process; times are cut to seconds by the client; without a cache nothing is
# mapped shared; a question about a lock does not say which kind.
p9_kernel="falloc falloc_keep_size falloc_extend falloc_punch
	falloc_punch_part falloc_zero falloc_zero_extend falloc_collapse
	falloc_insert falloc_times seek_data_hole seek_data_none tmpfile
	tmpfile_link rename_noreplace rename_exchange rename_exchange_dirs
	flock_shared flock_shared_exclusive flock_upgrade
	lock_flock_independent symlink_lutime utime utime_nanoseconds
	utime_omit utime_omit_both utime_before_epoch utime_dir futime
	time_write_keeps_atime mmap_shared_write mmap_shared_write_munmap
	mmap_shared_read_only mmap_sees_write mmap_two_processes lock_get"

# Thousands of files each, which take minutes in emulation; the tests of the
# other transports have them.
heavy="readdir_many readdir_while_removing readdir_seek readdir_rm_loop
	readdir_inodes readdir_new_after_rewind rename_replaces_atomically
	deep_tree append_many"

# A kernel and its modules: that of "make deps", or one that is installed.
find_kernel() {
	[ "$(uname)" = Linux ] || atf_skip "guests are made on Linux"
	for top in /usr/local/lib/coppice-guest ""; do
		for kernel in "$top"/boot/vmlinuz-*; do
			modules=$top/lib/modules/${kernel##*/vmlinuz-}
			[ -r "$kernel" ] && [ -f "$modules/modules.dep" ] &&
			    return 0
		done
	done
	atf_skip "no kernel for guests; see make deps"
}

needs() {
	atf_set require.user root
	atf_set require.progs "qemu-system-x86_64 cpio busybox"
	atf_set timeout 1800
}

# make_initrd: everything that the guest of a test runs.
make_initrd() {
	find_kernel
	ln -s busybox sh
	"$image/mkinitrd" -k "$modules" \
	    -i "$OBJTOP/guest/image/coppice-init" \
	    -s "$OBJTOP/guest/shim/coppice-shim" \
	    -f "$(command -v busybox):bin/busybox" -f "$PWD/sh:bin/sh" \
	    -f "$here/guest_cases:bin/guest_cases" \
	    -f "$here/guest_mount9p:bin/guest_mount9p" \
	    -o initrd || atf_fail "no initrd"
}

# serve kind [option ...]: "v" or "9", from dir.KIND at KIND.sock.
serve() {
	kind=$1
	shift
	mkdir -p "dir.$kind"
	mkfifo "ctl.$kind"
	# Both ends, so that neither waits for the other nor ends too soon.
	"$here/guest_server" "-$kind" "$@" "dir.$kind" "$kind.sock" \
	    <"ctl.$kind" >"out.$kind" 2>"err.$kind" &
	echo $! >>pids
	case $kind in
	v)	exec 7>ctl.v ;;
	*)	exec 8>ctl.9 ;;
	esac
	await "ready" "out.$kind" 1
}

# await word file count: lines with the word, of which there must be as many.
await() {
	i=0
	until [ "$(grep -c "$1" "$2")" -ge "$3" ]; do
		i=$((i + 1))
		[ $i -lt 3000 ] || atf_fail "no $1 in $2: $(cat "$2" err.*)"
		sleep 0.1
	done
}

# order kind line: tell a server; it must obey.
order() {
	n=$(wc -l <"out.$1")
	case $1 in
	v)	echo "$2" >&7 ;;
	*)	echo "$2" >&8 ;;
	esac
	await . "out.$1" $((n + 1))
	[ "$(tail -n 1 "out.$1")" = ok ] || atf_fail "$2: $(cat "out.$1")"
}

# boot kind ...: with the folders of these servers; that by 9P behind a port,
# or with "tcp" behind an address.
boot() {
	set -- "$@" end
	while [ "$1" != end ]; do
		case $1 in
		v)	set -- "$@" -chardev socket,id=v,path=v.sock -device \
			    vhost-user-fs-pci,chardev=v,tag=folder ;;
		9)	set -- "$@" -chardev socket,id=p9,path=9.sock -device \
			    virtserialport,chardev=p9,name=folder ;;
		tcp)	set -- "$@" -netdev "user,id=n,restrict=on,\
guestfwd=tcp:10.0.2.100:564-unix:$PWD/9.sock" -device \
			    virtio-net-pci,netdev=n ;;
		esac
		shift
	done
	shift
	rm -f shim.sock
	qemu-system-x86_64 -accel tcg,thread=multi -M q35 -cpu max \
	    -nodefaults -no-user-config -display none -no-reboot -m 256 \
	    -smp 2 -object memory-backend-memfd,id=mem,size=256M,share=on \
	    -numa node,memdev=mem -kernel "$kernel" -initrd initrd \
	    -append "console=ttyS0 quiet panic=-1 \
coppice.channel=serial:coppice" -serial file:console \
	    -device virtio-serial-pci \
	    -chardev socket,id=shim,path=shim.sock,server=on,wait=off \
	    -device virtserialport,chardev=shim,name=coppice "$@" \
	    >qemu.out 2>&1 &
	qemu=$!
	echo $qemu >>pids
	guest 'busybox --install -s /bin' ||
	    atf_fail "no machine: $(tail -n 5 qemu.out console)"
}

# guest command: in the machine; its output is ours.
guest() {
	"$here/guest_run" -t "${deadline:-300}" shim.sock "$1"
}

mount_v="mkdir -p /mnt/v && mount -t virtiofs folder /mnt/v"
mount_9="mkdir -p /mnt/9 && port=\$(grep -lx folder \
/sys/class/virtio-ports/*/name) && port=\${port%/name} && \
guest_mount9p /dev/\${port##*/} /mnt/9"
mount_tcp="mkdir -p /mnt/9 && ifconfig eth0 10.0.2.15 netmask 255.255.255.0 \
up && mount -t 9p -o trans=tcp,version=9p2000.L,cache=none,access=client,\
posixacl,msize=131072 10.0.2.100 /mnt/9"

power_off() {
	"$here/guest_run" -t 300 -p shim.sock
	wait "$qemu" || atf_fail "the machine ended with $?: $(cat qemu.out)"
}

# Servers end when their stdin does, quietly and well.
finish() {
	exec 7>&- 8>&-
	for f in err.*; do
		[ ! -s "$f" ] || atf_fail "$f: $(cat "$f")"
	done
}

unprepare() {
	[ -f pids ] || return 0
	while read -r p; do
		kill -9 "$p" 2>/dev/null
	done <pids
	return 0
}

# compare kind exceptions: no case may pass in a directory here and fail there.
compare() {
	mkdir native
	"$here/guest_cases" -l >all
	for c in $heavy; do
		grep -vx "$c" all >less
		mv less all
	done
	list=$(tr '\n' ' ' <all)
	# shellcheck disable=SC2086
	"$here/guest_cases" native $list >native.out
	deadline=1500 guest "guest_cases /mnt/$1 $list" >mnt.out
	[ "$(wc -l <mnt.out)" -eq "$(wc -l <all)" ] ||
	    atf_fail "ended after $(tail -n 1 mnt.out): $(tail -n 5 console)"
	[ "$(grep -c '^pass' mnt.out)" -gt 340 ] ||
	    atf_fail "$(grep -c '^pass' mnt.out) passed"
	sed -n 's/^FAIL //p' mnt.out >failed
	while read -r c; do
		grep -q "^pass $c$" native.out || continue
		echo " $2 " | tr '\n\t' '  ' | grep -q " $c " ||
		    echo "fails in the mount: $c"
	done <failed >bad
	cat bad
	[ ! -s bad ] || atf_fail "not as in a directory"
	[ -z "$(ls -A "dir.$1")" ] || atf_fail "left: $(ls -A "dir.$1")"
}

atf_test_case posix_virtiofs cleanup
posix_virtiofs_head() {
	needs
}
posix_virtiofs_body() {
	make_initrd
	serve v
	boot v
	guest "$mount_v" || atf_fail "not mounted"
	compare v "$virtiofs_kernel"
	power_off
	finish
}
posix_virtiofs_cleanup() {
	unprepare
}

atf_test_case posix_9p cleanup
posix_9p_head() {
	needs
}
posix_9p_body() {
	make_initrd
	serve 9
	boot tcp
	guest "$mount_tcp" || atf_fail "not mounted"
	compare 9 "$p9_kernel"
	power_off
	finish
}
posix_9p_cleanup() {
	unprepare
}

# What is in a tree, and how.
manifest() {
	(cd "$1" && find . -printf '%P %y %m %l\n' | LC_ALL=C sort &&
	    find . -type f -exec md5sum {} + | LC_ALL=C sort -k 2)
}

# A build, as far as there are tools in the guest.
build='set -e; cd /mnt/KIND/tree; mkdir -p obj/deep; for f in *.c; do
	gzip -c $f >obj/$f.tmp; mv obj/$f.tmp obj/${f%.c}.o; done
	cat obj/*.o >lib.a; chmod 444 lib.a; ln -s lib.a lib.so
	ln obj/attr.o obj/deep/again; sed -i s/uint32_t/uint64_t/ *.h
	echo more >>vhost.c; rm serve.c dev.c; mv entry.c obj/deep/moved
	chmod 600 Makefile; : >decode.c; touch -t 202001010000 file.c
	mkdir empty; rmdir dir; mv obj out; find . | wc -l'

# Undo what a build in the guest did, through either transport; then let the
# machine die, and serve the next one.
atf_test_case undo cleanup
undo_head() {
	needs
}
undo_body() {
	make_initrd
	for k in v 9; do
		mkdir -p "dir.$k/tree/dir" && cp \
		    "$TEST_SRCDIR"/../../lib/libfused/* "dir.$k/tree/"
		ln -s Makefile "dir.$k/tree/link"
		serve $k -u "$PWD/store.$k"
		manifest "dir.$k" >before.$k
	done
	boot v 9
	guest "$mount_v && $mount_9" || atf_fail "not mounted"
	for k in v 9; do
		order $k "begin 1"
		guest "$(echo "$build" | sed "s/KIND/$k/")" >count.$k ||
		    atf_fail "the build failed"
		[ "$(cat count.$k)" -gt 40 ] || atf_fail "$(cat count.$k)"
		manifest "dir.$k" >built.$k
		cmp -s before.$k built.$k && atf_fail "nothing was built"
		order $k "complete 1"
		order $k "rollback"
		manifest "dir.$k" >after.$k
		atf_check diff before.$k after.$k
		# And the guest sees so at once.
		guest "cd /mnt/$k && find . -type f -exec md5sum {} +" |
		    LC_ALL=C sort -k 2 >guest.$k
		atf_check -o file:guest.$k sh -c \
		    "cd dir.$k && find . -type f -exec md5sum {} + |
		    LC_ALL=C sort -k 2"
	done
	cmp -s built.v built.9 || atf_fail "one build, two results"
	kill -9 "$qemu"
	wait "$qemu"
	boot v 9
	guest "$mount_v && $mount_9" || atf_fail "not mounted again"
	for k in v 9; do
		again=$(guest "cd /mnt/$k && echo again >x && mv x y &&
		    cat y && rm y")
		[ "$again" = again ] || atf_fail "the next machine: $again"
	done
	power_off
	finish
}
undo_cleanup() {
	unprepare
}

# The initrd by itself: made by a user, modules on demand, the way to the host
# closed to others, no machine left at the end.
atf_test_case initrd cleanup
initrd_head() {
	needs
}
initrd_body() {
	chmod 777 .
	find_kernel
	export image modules OBJTOP
	cat >make.sh <<-'EOT'
	ln -s busybox sh
	"$image/mkinitrd" -k "$modules" \
	    -i "$OBJTOP/guest/image/coppice-init" \
	    -s "$OBJTOP/guest/shim/coppice-shim" \
	    -f "$(command -v busybox):bin/busybox" -f "$PWD/sh:bin/sh" \
	    -m loop -o initrd
	EOT
	setpriv --reuid=65534 --regid=65534 --clear-groups sh make.sh ||
	    atf_fail "a user can't make an initrd"
	atf_check -s exit:1 -e match:'no module nonesuch' "$image/mkinitrd" \
	    -k "$modules" -i "$OBJTOP/guest/image/coppice-init" \
	    -s "$OBJTOP/guest/shim/coppice-shim" -m nonesuch -o other
	[ ! -e other ] || atf_fail "half an initrd was left"
	boot
	run="$here/guest_run -t 300 shim.sock"
	# shellcheck disable=SC2086
	atf_check -o inline:'0 0 600\n' $run 'stat -c "%u %g %a" /dev/vport*p1'
	# shellcheck disable=SC2086
	atf_check -o match:overlay -o match:vsock -o match:loop $run \
	    'mkdir -p /tmp/u /tmp/w /mnt/o; mount -t overlay overlay \
	    -o lowerdir=/etc,upperdir=/tmp/u,workdir=/tmp/w /mnt/o;
	    /sbin/modprobe loop; /sbin/modprobe net-pf-40; cat /proc/modules'
	# shellcheck disable=SC2086
	atf_check -o match:'ext4' $run '/sbin/modprobe fs-ext4;
	    cat /proc/filesystems'
	# shellcheck disable=SC2086
	atf_check -s exit:1 $run '/sbin/modprobe fs-nonesuch'
	# One host after another, before the machine knows that the last went.
	for i in 1 2 3 4 5 6 7 8 9 10 11 12 13 14 15 16; do
		# shellcheck disable=SC2086
		atf_check -o inline:"$i\n" $run "echo $i"
	done
	power_off
	grep -q 'coppice-init:' console && atf_fail "$(cat console)"
	return 0
}
initrd_cleanup() {
	unprepare
}

atf_init_test_cases() {
	atf_add_test_case initrd
	atf_add_test_case undo
	atf_add_test_case posix_virtiofs
	atf_add_test_case posix_9p
}
