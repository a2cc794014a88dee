# SPDX-License-Identifier: BSD-2-Clause
#
# The table of commands, the manual and the completions say the same.

. "$TEST_SRCDIR/fake.sh"

top=$TEST_SRCDIR/../..

atf_test_case synopsis
synopsis_body() {
	atf_require_prog mandoc
	coppicectl --libxo json,pretty help |
	    sed -n 's/^ *"usage": "\(.*\)"$/coppicectl \1/p' >usage
	[ "$(wc -l <usage)" -gt 30 ] || atf_fail "no usages"
	mandoc -T ascii -O width=900 "$top/man/coppicectl.8" | col -bx |
	    sed -n '/^SYNOPSIS/,/^DESCRIPTION/s/^ *coppicectl /coppicectl /p' |
	    tail -n +2 >synopsis
	atf_check diff -u usage synopsis
}

atf_test_case described
described_body() {
	atf_require_prog mandoc
	mandoc -T ascii -O width=900 "$top/man/coppicectl.8" | col -bx |
	    sed -n '/^COMMANDS/,/^ENVIRONMENT/p' >commands
	coppicectl --libxo json,pretty help |
	    sed -n 's/^ *"name": "\(.*\)",$/\1/p' | while read -r c; do
		grep -qE "^ {5}$c( |$)" commands || echo "$c"
	done >missing
	atf_check cat missing
	for code in 124 125 126 127; do
		grep -q "^.It $code" "$top/man/coppicectl.8" ||
		    atf_fail "exit code $code is not documented"
	done
}

atf_test_case completions
completions_body() {
	coppicectl help | awk '{ print $1 }' | uniq >nouns
	coppicectl help | awk '$1 ~ /^(key|net|safeguard|template)$/ { print $2 }
	    ' | sort -u >verbs
	[ "$(wc -l <nouns)" -gt 25 ] || atf_fail "no commands"
	[ "$(wc -l <verbs)" -gt 9 ] || atf_fail "no verbs"
	for f in "$top"/share/completions/*coppicectl*; do
		cat nouns verbs | while read -r w; do
			grep -qw -- "$w" "$f" || echo "$f: $w"
		done
	done >missing
	atf_check cat missing
	atf_check sh -n "$top/share/completions/coppicectl.sh"
	if command -v bash >/dev/null; then
		atf_check -o inline:'template \nteardown \n' bash -c '
		    . "$1"; COMP_WORDS=(coppicectl temp) COMP_CWORD=1
		    _coppicectl; printf "%s \n" "${COMPREPLY[@]}"
		    COMP_WORDS=(coppicectl net t) COMP_CWORD=2
		    _coppicectl; printf "%s \n" "${COMPREPLY[@]}"' sh \
		    "$top/share/completions/coppicectl.bash"
	fi
}

atf_init_test_cases() {
	atf_add_test_case synopsis
	atf_add_test_case described
	atf_add_test_case completions
}
