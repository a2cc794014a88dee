# Read by the tests: a coppiced that answers from a table, and coppicectl.

PATH=$OBJTOP/sbin/coppicectl:$OBJTOP/tests/coppicectl:$PATH
COPPICE_SOCKET=$PWD/s
export PATH COPPICE_SOCKET
unset LIBXO_OPTIONS

prepare() {
	fake_coppiced "$COPPICE_SOCKET" "$PWD/log" 2>fake.err &
	echo $! >pid
	i=0
	until [ -S "$COPPICE_SOCKET" ]; do
		i=$((i + 1))
		[ $i -lt 100 ] || atf_fail "it did not start: $(cat fake.err)"
		sleep 0.05
	done
}

unprepare() {
	[ ! -f pid ] || kill "$(cat pid)" 2>/dev/null || :
}

# The fake was asked for this, word for word.
asked() {
	grep -qxF -- "$1" log || {
		cat log
		atf_fail "it was not asked: $1"
	}
}

# A test with its preparation and what ends it, whatever happens.
with_fake() {
	atf_test_case "$1" cleanup
	eval "$1_head() { atf_set timeout 60; }
	    $1_cleanup() { unprepare; }"
}
