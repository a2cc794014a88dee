# SPDX-License-Identifier: BSD-2-Clause
#
# libvirt's own schema has the last word on our domains.

atf_test_case schema
schema_head() {
	atf_set descr "virt-xml-validate(1) takes every domain"
	atf_set require.progs virt-xml-validate
}
schema_body() {
	n=0
	for f in "$TEST_SRCDIR"/golden/*.xml; do
		atf_check -o ignore -e match:validates virt-xml-validate "$f" domain
		n=$((n + 1))
	done
	[ $n -ge 3 ] || atf_fail "$n domains"
	# It does look.
	sed 's/<vcpu>.*/<vcpu>many<\/vcpu>/' \
	    "$TEST_SRCDIR/golden/kvm.xml" >bad.xml
	atf_check -s not-exit:0 -o ignore -e ignore \
	    virt-xml-validate bad.xml domain
}

atf_init_test_cases() {
	atf_add_test_case schema
}
