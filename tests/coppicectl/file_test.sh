# SPDX-License-Identifier: BSD-2-Clause
#
# cp, also from a sandbox whose names want to get out of their folder.

. "$TEST_SRCDIR/fake.sh"

with_fake up
up_body() {
	prepare
	head -c 700000 /dev/zero >f
	chmod 0640 f
	atf_check coppicectl cp f web:/tmp/new
	asked "op=file.write id=web path=/tmp/new mode=416 atomic=true"
	asked "file of 700000 bytes"
	! grep BAD log || atf_fail "the window was not kept to"
	atf_check coppicectl cp -u me f web:/dir
	asked "op=file.write id=web path=/dir/f user=me mode=416 atomic=true"
	echo data | atf_check coppicectl cp - web:/new
	asked "file of 5 bytes"
	atf_check -s exit:1 -e match:'cp -r' coppicectl cp . web:/dir
	mkdir -p t/sub
	echo x >t/sub/x
	ln -s /etc t/l
	mkfifo t/p
	atf_check -s exit:1 -e match:'p: neither a file' \
	    coppicectl cp -r t web:/dir
	asked "op=file.write id=web path=/dir/t/sub/x mode=420 atomic=true"
	asked "op=exec id=web argv=[ln,-sfn,--,/etc,/dir/t/l]"
	# A colon after a slash is no sandbox.
	atf_check -s exit:1 -e match:'one of source' coppicectl cp ./a:b c
}

with_fake down
down_body() {
	prepare
	printf 'a\0b\377' >want
	atf_check -o file:want coppicectl cp web:/some/f -
	atf_check coppicectl cp web:/some/f got
	atf_check cmp want got
	mkdir into
	atf_check coppicectl cp web:/some/f into
	atf_check cmp want into/f
}

with_fake hostile
hostile_body() {
	prepare
	mkdir -p box/out
	atf_check -s exit:1 -e match:'leads elsewhere' -e match:'left out' \
	    coppicectl cp -r web:/dir box/out/copy
	printf 'a\0b\377' >want
	atf_check cmp want box/out/copy/good
	atf_check -o inline:'/etc\n' readlink box/out/copy/link
	atf_check -o inline:'box/out/copy/good\n' find box -type f
	# No set-ID bits come over.
	atf_check -o inline:'box/out/copy/good\n' find box -perm 0755 -type f
	if [ -e /etc/escape ] || [ -e /etc/x ]; then
		atf_fail "escaped"
	fi
}

atf_init_test_cases() {
	atf_add_test_case up
	atf_add_test_case down
	atf_add_test_case hostile
}
