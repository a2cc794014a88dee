# SPDX-License-Identifier: BSD-2-Clause
#
# What is printed, as text, JSON and XML; nothing of a sandbox gets through
# to a terminal as it is.

. "$TEST_SRCDIR/fake.sh"

# All commands that print, one on a line.
printing() {
	cat <<-'END'
	list
	show web
	ps web
	events
	logs web
	history web
	diff -l web 12
	net show
	net show web
	template list
	template build tiny
	snapshot web x
	safeguard list web
	top
	version
	help
	create
	exec -D web x
	undo web
	timeout web 5
	END
}

with_fake formats
formats_body() {
	prepare
	printing | while read -r c; do
		# shellcheck disable=SC2086
		coppicectl --libxo json $c >out.json || echo "$c failed"
		python3 -m json.tool <out.json >/dev/null 2>err ||
		    echo "$c: not JSON: $(cat out.json err)"
		# shellcheck disable=SC2086
		coppicectl --libxo xml $c >out.xml || echo "$c failed"
		{ echo '<r>'; cat out.xml; echo '</r>'; } >doc
		python3 -c 'import sys, xml.dom.minidom as m
m.parse(sys.argv[1])' doc 2>err || echo "$c: not XML: $(cat out.xml err)"
		# shellcheck disable=SC2086
		coppicectl $c >text || echo "$c failed"
		tr -d '\11\12\40-\176' <text >rest
		[ ! -s rest ] || echo "$c: not plain: $(od -c rest)"
	done >bad
	atf_check cat bad
}
formats_head() {
	atf_set timeout 120
	atf_set require.progs python3
}

with_fake text
text_body() {
	prepare
	coppicectl list >out
	atf_check -o match:'^ID +NAME +STATE +TEMPLATE +BACKEND +ADDRESS +AGE' \
	    -o match:'^9f2c1d3e4f5a web +running +tiny +ns +10.78.0.10 ' \
	    -o match:'e\\x1b]0;vil\\x07\\xff' cat out
	atf_check -o inline:'web\ne\\x1b]0;vil\\x07\\xff\n' coppicectl list -q
	atf_check -o match:'^memory:.*1.5K$' -o match:'^processors:.*0.5$' \
	    -o match:'^ports:.*80 443$' -o match:'B=.x1b\[31mred' \
	    -o match:'^share:.*src /home/a at /work/src, read-only$' \
	    coppicectl show web
	atf_check -o match:' 12 .*rm -rf\\x0a/work$' \
	    -o match:'undo stops here: a b\\x1b\[2J' coppicectl history web
	atf_check -o inline:'--- a/f\n+++ b/f\n-old\n+new\n' \
	    coppicectl diff web
	atf_check -o inline:'renamed  file  new (from old)\n' \
	    coppicectl diff -l web 12
	atf_check -o match:'pair +10.78.0.0/24 +coppicenet0 +241 +3' \
	    coppicectl net show
	atf_check -o inline:'archive' coppicectl template export tiny
	atf_check -o inline:'line\n' coppicectl logs web
	atf_check -o match:'exit exit_code=1 command=ls.x07' coppicectl events
	atf_check -o match:'1.0M' coppicectl top -1
}

with_fake json
json_body() {
	prepare
	atf_check -o match:'"name":"e\\\\x1b]0;vil\\\\x07\\\\xff"' \
	    coppicectl --libxo json list
	atf_check -o match:'"memory":1536' -o match:'"readonly":true' \
	    -o match:'"port": \[80, *443\]|"port":\[80, *443\]' \
	    coppicectl --libxo json show web
	atf_check -o match:'"from":"old"' coppicectl --libxo json diff web
	atf_check -o match:'"steps":1' coppicectl --libxo json undo web
}

atf_init_test_cases() {
	atf_add_test_case formats
	atf_add_test_case text
	atf_add_test_case json
}
