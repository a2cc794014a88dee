# SPDX-License-Identifier: BSD-2-Clause
#
# The real SDK against the real coppiced.

. "$TEST_SRCDIR/gw.subr"

suite() {
	gw_run "$2" node --test --test-reporter=spec \
	    "$TEST_SRCDIR/sdk/$1.mjs"
}

conf_sandbox= conf_commands= conf_files=
conf_proxy='gateway { domain = "e2b.app" }'
conf_security='gateway { head_timeout = 2s, idle_timeout = 3s, rate = 60,
    max_sandboxes = 5 }'

for t in sandbox commands files proxy security; do
	atf_test_case $t cleanup
	eval "${t}_head() {
		atf_set require.user root
		atf_set timeout 900
	}
	${t}_body() {
		[ $t != security ] || export GW_KEYS=yes
		suite $t \"\$conf_$t\"
	}
	${t}_cleanup() {
		gw_clean
	}"
done

atf_init_test_cases() {
	atf_add_test_case sandbox
	atf_add_test_case commands
	atf_add_test_case files
	atf_add_test_case proxy
	atf_add_test_case security
}
