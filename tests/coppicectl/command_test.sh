# SPDX-License-Identifier: BSD-2-Clause
#
# How the command line is understood, what becomes of options, and what
# coppicectl exits with.

. "$TEST_SRCDIR/fake.sh"

atf_test_case nobody
nobody_body() {
	atf_check -s exit:1 -e match:'^coppicectl: .*/s: .*start coppiced' \
	    coppicectl list
	atf_check -s exit:125 -e match:'start coppiced' \
	    coppicectl exec box true
	atf_check -s exit:1 -e match:"$PWD/elsewhere" \
	    coppicectl -s "$PWD/elsewhere" list
}

atf_test_case wrong
wrong_body() {
	atf_check -s exit:2 -e match:'^usage: coppicectl \[--libxo' coppicectl
	atf_check -s exit:2 -e match:usage coppicectl -z
	atf_check -s exit:2 -e match:'no command "frobnicate"' \
	    coppicectl frobnicate
	atf_check -s exit:2 -e match:'"s" can mean safeguard, shell, show' \
	    coppicectl s
	atf_check -s exit:2 -e match:'can mean net set, net setup, net show;' \
	    coppicectl net s
	atf_check -s exit:2 -e match:'usage: coppicectl net set' coppicectl net
	atf_check -s exit:2 -e match:'usage: coppicectl show sandbox' \
	    coppicectl show
	atf_check -s exit:2 -e match:usage coppicectl show a b
	atf_check -s exit:125 -e match:usage coppicectl exec
	atf_check -s exit:125 -e match:usage coppicectl exec box
	atf_check -s exit:125 -e match:usage coppicectl exec box --
	atf_check -s exit:2 -e match:usage coppicectl destroy
	atf_check -s exit:2 -e match:usage coppicectl destroy -a box
	atf_check -s exit:2 -e match:usage coppicectl undo -n 1
	for c in $(coppicectl help | awk '{ print $1 }' | uniq); do
		atf_check -s not-exit:0 -e match:usage -o ignore \
		    coppicectl "$c" -Z -Z -Z
	done
}

atf_test_case values
values_body() {
	atf_check -s exit:1 -e match:'-m: "x" is not understood' \
	    coppicectl create -m x
	atf_check -s exit:1 -e match:'-m: "-1"' coppicectl create -m -1
	atf_check -s exit:1 -e match:'-m: "1q"' coppicectl create -m 1q
	atf_check -s exit:1 -e match:'-c: "none"' coppicectl create -c none
	atf_check -s exit:1 -e match:'-p: "70000"' coppicectl create -p 70000
	atf_check -s exit:1 -e match:'-e: "novalue"' \
	    coppicectl create -e novalue
	atf_check -s exit:1 -e match:'-N: "everything"' \
	    coppicectl create -N everything
	atf_check -s exit:1 -e match:'-w: .*"/no/such"' \
	    coppicectl create -w /no/such
	atf_check -s exit:1 -e match:'-n: "0"' coppicectl undo -n 0 box
	atf_check -s exit:1 -e match:'-s: "NOSUCH"' \
	    coppicectl kill -s NOSUCH box 1
	atf_check -s exit:1 -e match:'one of source and target' \
	    coppicectl cp a b
	atf_check -s exit:1 -e match:'one of source and target' \
	    coppicectl cp a:b c:d
}

with_fake create
create_body() {
	prepare
	mkdir dir
	atf_check -o inline:'9f2c1d3e4f5a6b7c8d9e0f1a2b3c4d5e\n' \
	    coppicectl create
	asked "op=create"
	atf_check -o ignore coppicectl create -n web -t tiny -b ns -m 1.5k \
	    -c 0.5 -D 2g -P 10 -F 64 -T 2m -o stop -u me -d /srv -S \
	    -e A=1 -e B=2=3 -l team=x -M k=v -p 80 -p 443 \
	    -N allowlist -a 'example.org:443/tcp' -x 192.0.2.0/24 \
	    -w src=dir:ro -w dir
	asked "op=create name=web template=tiny backend=ns memory=1536 \
cpu=500 disk=2147483648 procs=10 files=64 timeout_ms=120000 on_timeout=stop \
user=me cwd=/srv start=false policy=mode allowlist"
	asked "allow example.org:443/tcp"
	asked "deny 192.0.2.0/24"
	grep -F " env=[A=1,B=2=3] labels=[team=x] metadata=[k=v] \
ports=[80,443] shares{ label=src readonly=true path=$PWD/dir } \
shares{ path=$PWD/dir }" log || atf_fail "$(cat log)"
	atf_check -o ignore coppicectl create -a 192.0.2.1
	asked "op=create policy=mode allowlist"
	atf_check -o ignore coppicectl clone -n two web
	asked "op=clone name=two id=web"
}

with_fake prefixes
prefixes_body() {
	prepare
	atf_check -o match:tiny coppicectl te l
	asked "op=template.list"
	atf_check -o match:"mode open" coppicectl net sh web
	asked "op=policy.get id=web"
	atf_check -o ignore coppicectl sho web
	asked "op=show id=web"
}

with_fake changes
changes_body() {
	prepare
	atf_check coppicectl start a b
	asked "op=start id=a"
	asked "op=start id=b"
	atf_check coppicectl stop -g 0 a
	asked "op=stop id=a grace_ms=0"
	atf_check coppicectl pause a
	atf_check coppicectl resume a
	atf_check coppicectl rename a b
	asked "op=rename id=a name=b"
	atf_check -o match:'no end' coppicectl timeout a never
	asked "op=timeout id=a timeout_ms=0"
	atf_check coppicectl destroy -a
	asked "op=destroy id=9f2c1d3e4f5a6b7c8d9e0f1a2b3c4d5e"
	atf_check coppicectl kill -s int a 12 13
	asked "op=kill id=a exec=12 signal=2"
	asked "op=kill id=a exec=13 signal=2"
	# One that fails does not keep the others from it.
	atf_check -s exit:1 -e match:'^coppicectl: sandbox nobody: there is' \
	    coppicectl start nobody c
	asked "op=start id=c"
}

with_fake errors
errors_body() {
	prepare
	atf_check -s exit:1 \
	    -e inline:'coppicectl: sandbox nobody: there is no such one; "coppicectl list" shows those there are\n' \
	    coppicectl show nobody
	atf_check -s exit:1 -e ignore \
	    -o match:'"symbol": *"ESANDBOX_NOTFOUND"' \
	    coppicectl --libxo json show nobody
	atf_check -s exit:1 -e match:'undo -f' coppicectl undo -n 3 web
	atf_check -o inline:'3 steps undone\n' coppicectl undo -f -n 3 web
	asked "op=undo id=web n=3 force=true"
	atf_check -o inline:'1 step done again\n' coppicectl redo web
	atf_check -s exit:1 -o match:'BAD +net +nftables' -o match:'load the' \
	    coppicectl doctor
}

with_fake net
net_body() {
	prepare
	atf_check coppicectl net set -a 198.51.100.1 -u 1m web
	# Added to what there was; one rate takes the place of the other.
	asked "op=policy.set id=web policy=mode open"
	asked "allow 192.0.2.1"
	asked "allow 198.51.100.1"
	asked "up 1m"
	! grep -qx 'up 5m' log || atf_fail "two rates"
	atf_check coppicectl net set -N airgap web
	asked "op=policy.set id=web policy=mode airgap"
	printf 'mode disabled\n' >p
	atf_check coppicectl net set -f p web
	asked "op=policy.set id=web policy=mode disabled"
	atf_check -s exit:2 -e match:usage coppicectl net set web
	atf_check -o ignore coppicectl net setup -n -t 192.0.2.9
	asked "op=net.setup dns=false target=192.0.2.9"
	atf_check -o ignore coppicectl net teardown -o 192.0.2.8
	asked "op=net.teardown operator=192.0.2.8"
}

atf_init_test_cases() {
	atf_add_test_case nobody
	atf_add_test_case wrong
	atf_add_test_case values
	atf_add_test_case create
	atf_add_test_case prefixes
	atf_add_test_case changes
	atf_add_test_case errors
	atf_add_test_case net
}
