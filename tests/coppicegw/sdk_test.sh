# SPDX-License-Identifier: BSD-2-Clause
#
# The real SDK against the real coppiced.

. "$TEST_SRCDIR/gw.subr"

suite() {
	gw_run "$2" node --test --test-reporter=spec \
	    "$TEST_SRCDIR/sdk/$1.mjs"
}

conf_sandbox='' conf_commands='' conf_files='' conf_git='' conf_network=''
conf_restart=''
conf_proxy='gateway { domain = "e2b.app" }'
conf_security='gateway { head_timeout = 2s, idle_timeout = 3s, rate = 60,
    max_sandboxes = 5 }'
conf_browser='gateway { domain = "localhost" }'
conf_debug='gateway { envd_listen = [ "127.0.0.1:49983" ] }'
suites='sandbox commands files git network proxy security debug restart tls
    browser'

prepare_security() {
	export GW_KEYS=yes
}

prepare_git() {
	atf_require_prog git
	export GW_GIT=yes
}

prepare_network() {
	export GW_NET=true
}

# The SDK must find envd by itself.
prepare_debug() {
	export E2B_SANDBOX_URL=
}

prepare_tls() {
	atf_require_prog openssl
	openssl req -x509 -newkey ec -pkeyopt ec_paramgen_curve:prime256v1 \
	    -nodes -keyout key.pem -out cert.pem -days 2 -subj /CN=localhost \
	    2>/dev/null || atf_fail "no certificate"
	conf_tls="gateway { tls_cert = \"$PWD/cert.pem\",
	    tls_key = \"$PWD/key.pem\" }"
	export E2B_API_URL=https://127.0.0.1:3000
	export E2B_SANDBOX_URL=https://127.0.0.1:3000
	export NODE_TLS_REJECT_UNAUTHORIZED=0
}

for t in $suites; do
	atf_test_case "$t" cleanup
	eval "${t}_head() {
		atf_set require.user root
		atf_set timeout 900
	}
	${t}_body() {
		case $t in debug | git | network | security | tls) prepare_$t ;; esac
		suite $t \"\$conf_$t\"
	}
	${t}_cleanup() {
		gw_clean
	}"
done

atf_test_case python cleanup
python_head() {
	atf_set require.user root
	atf_set timeout 900
}
python_body() {
	[ -x "$sdk/py/bin/python" ] || atf_skip "the Python SDK is not " \
	    "installed; tools/deps does it where PyPI is reached"
	gw_run '' "$sdk/py/bin/python" "$TEST_SRCDIR/sdk/python.py"
}
python_cleanup() {
	gw_clean
}

atf_init_test_cases() {
	for t in $suites; do
		atf_add_test_case "$t"
	done
	atf_add_test_case python
}
