/*-
 * SPDX-License-Identifier: BSD-2-Clause
 *
 * coppicefsd's virtio-fs, by the VMM that the transport is tested with: that
 * the confined server can do all that it needs.
 */

#include <sys/stat.h>

#include <atf-c.h>
#include <string.h>
#include <unistd.h>

#include "coppice.h"
#include "ctl.h"

#include "daemon.h"
#include "vhost_master.h"

static void
step(struct ctl *c, const char *op)
{
	nvlist_t *nv;

	nv = daemon_request(op);
	nvlist_add_number(nv, "id", 1);
	nvlist_destroy(daemon_ask(c, nv, 0));
}

ATF_TC_WITH_CLEANUP(undo);
ATF_TC_HEAD(undo, tc)
{

	atf_tc_set_md_var(tc, "descr", "a step of a machine, and back");
}
ATF_TC_BODY(undo, tc)
{
	struct fw_write_in wi = { .offset = 0, .size = 5 };
	struct fw_write_out wo;
	struct master vmm;
	struct ctl *ctl;
	uint64_t fh, node;

	daemon_start("vhost:vhost.sock", -1);
	ctl = daemon_connect();
	memset(&vmm, 0, sizeof(vmm));
	master_connect(&vmm, VW_F_INDIRECT | VW_F_EVENT_IDX, false);
	m_init(&vmm);
	step(ctl, "step.begin");
	node = m_create(&vmm, 1, "made", &fh);
	wi.fh = fh;
	ATF_REQUIRE_EQ(0, m_do(&vmm, 1, FW_WRITE, node, &wi, sizeof(wi),
	    "bytes", 5, &wo, sizeof(wo)));
	step(ctl, "step.complete");
	ATF_CHECK(atf_utils_compare_file("tree/made", "bytes"));
	nvlist_destroy(daemon_ask(ctl, daemon_request("undo"), 0));
	ATF_CHECK(access("tree/made", F_OK) == -1);
	nvlist_destroy(daemon_ask(ctl, daemon_request("redo"), 0));
	ATF_CHECK(atf_utils_compare_file("tree/made", "bytes"));
	master_free(&vmm);
	ctl_free(ctl);
	daemon_end();
	ATF_CHECK(access("vhost.sock", F_OK) == -1);
}
ATF_TC_CLEANUP(undo, tc)
{

	daemon_kill();
}

ATF_TP_ADD_TCS(tp)
{

	ATF_TP_ADD_TC(tp, undo);
	return (atf_no_error());
}
