# SPDX-License-Identifier: BSD-2-Clause
#
# Commands: their data, exit codes, signals and terminals.

. "$TEST_SRCDIR/fake.sh"

with_fake status
status_body() {
	prepare
	atf_check coppicectl exec web true
	atf_check -s exit:3 -o inline:'out\n' -e inline:'err\n' \
	    coppicectl exec web -- both
	atf_check -s exit:137 coppicectl exec web killed
	atf_check -s exit:124 -e match:'longer than its time' \
	    coppicectl exec -T 1 web slow
	asked "op=exec timeout_ms=1000 id=web argv=[slow] stdin=null"
	atf_check -s exit:127 -e match:'no such program' \
	    coppicectl exec web none
	atf_check -s exit:126 -e match:'not for you' \
	    coppicectl exec web denied
	atf_check -s exit:125 -e match:'sandbox nobody: there' \
	    coppicectl exec nobody true
	atf_check -o inline:'12\n' coppicectl exec -D web sleep 9
	atf_check coppicectl exec -u me -d /srv -e A=1 web true -x -- y
	asked "op=exec user=me cwd=/srv id=web argv=[true,-x,--,y] env=[A=1] \
stdin=null"
}

with_fake data
data_body() {
	prepare
	head -c 3000000 /dev/urandom >in
	{ echo ready; cat in; } >want
	atf_check -o file:want coppicectl exec -i web cat <in
	! grep BAD log || atf_fail "the window was not kept to"
	coppicectl exec web big >out || atf_fail "big failed"
	atf_check_equal 3145733 "$(wc -c <out | tr -d ' ')"
	! grep BAD log || atf_fail "acknowledged wrongly"
	# Without -i, stdin is left alone.
	printf 'mine\n' | { coppicectl exec web true; cat; } >left
	atf_check -o inline:'mine\n' cat left
}

# A reader that goes away ends the command as a pipe would.
with_fake pipe
pipe_body() {
	prepare
	{ coppicectl exec web big; echo $? >status; } | head -c 10 >/dev/null
	atf_check_equal 141 "$(cat status)"
	asked "op=signal signal=13 group=true"
}

with_fake signals
signals_body() {
	prepare
	coppicectl exec web hang >out &
	pid=$!
	i=0
	until grep -q ready out; do
		i=$((i + 1))
		[ $i -lt 100 ] || atf_fail "no output"
		sleep 0.05
	done
	kill -TERM $pid
	status=0
	wait $pid || status=$?
	atf_check_equal 143 "$status"
	asked "op=signal signal=15 group=true"
}

with_fake pty
pty_body() {
	prepare
	atf_check -o match:'terminal: same' -o match:ready -o match:'xyz' \
	    ptyrun -r 33 -w ready -i "xy" -r 44 -i z -w xyz \
	    -i "$(printf '\035d')" -w detached \
	    coppicectl exec -it -e TERM=dumb web cat
	asked "op=exec id=web argv=[cat] env=[TERM=dumb] pty=true rows=33 \
cols=100 stdin=pipe"
	asked "op=resize rows=44 cols=100"
	asked "hung up"
	# Ctrl-C is the command's, not ours.
	atf_check -o match:'terminal: same' \
	    ptyrun -w ready -i "$(printf 'a\003b')" -w b \
	    -i "$(printf '\035?')" -w 'detaches' -i "$(printf '\035.')" \
	    coppicectl shell web
	# Attach comes back to it, in raw mode.
	atf_check -o match:'terminal: same' \
	    ptyrun -w ready -i "$(printf '\035d')" \
	    coppicectl attach -i web 12
	asked "op=attach id=web exec=12"
}

with_fake restored
restored_body() {
	prepare
	atf_check -s exit:143 -o match:'terminal: same' \
	    ptyrun -w ready -k 15 coppicectl exec -it web cat
	atf_check -s not-exit:0 -o match:'terminal: same' \
	    ptyrun -w ready -k 1 coppicectl exec -it web cat
	atf_check -s not-exit:0 -o match:'terminal: same' \
	    ptyrun -w ready -k 11 coppicectl exec -it web cat
	# coppiced goes away.
	ptyrun -w ready -i x -w x coppicectl exec -it web cat >out 2>&1 &
	pty=$!
	i=0
	until grep -q readyx out || [ $i -ge 100 ]; do
		tr -d '\r\n' <out | grep -q readyx && break
		i=$((i + 1))
		sleep 0.05
	done
	kill "$(cat pid)"
	status=0
	wait $pty || status=$?
	atf_check_equal 125 "$status"
	atf_check -o match:'hung up' -o match:'terminal: same' cat out
}

with_fake safeguard
safeguard_body() {
	prepare
	atf_check -o match:'delete 50 files; allow it' -o match:'terminal: same' \
	    ptyrun -w 'allow it?' -i y coppicectl exec -t web risky
	asked "op=safeguard.answer id=web safeguard=sg1 share=src allow=true"
	atf_check -s exit:1 -o match:'terminal: same' \
	    ptyrun -w 'allow it?' -i n coppicectl exec -it web risky
	asked "op=safeguard.answer id=web safeguard=sg1 share=src allow=false"
	# Without a terminal nobody is asked, but by the command for that.
	atf_check -o match:sg1 coppicectl safeguard list web
	atf_check coppicectl safeguard deny web sg1
	atf_check coppicectl safeguard set -d 10 -s 1m -T 30 web
	asked "op=safeguard.set deletes=10 overwrite_size=1048576 \
timeout_ms=30000 id=web"
}

atf_init_test_cases() {
	atf_add_test_case status
	atf_add_test_case data
	atf_add_test_case pipe
	atf_add_test_case signals
	atf_add_test_case pty
	atf_add_test_case restored
	atf_add_test_case safeguard
}
