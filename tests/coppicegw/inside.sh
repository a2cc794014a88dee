#!/bin/sh
# SPDX-License-Identifier: BSD-2-Clause
#
# Started by gw.subr in a network of its own: bring coppiced and the gateway
# up, run a command, and take everything down again.

set -eu
bin=$OBJTOP/sbin
export COPPICE_SOCKET="$GW_DIR/run/control"

wait_for() {
	i=0
	until "$@" >/dev/null 2>&1; do
		i=$((i + 1))
		[ $i -lt 100 ] || {
			echo "never: $*"
			exit 1
		}
		sleep 0.1
	done
}

down() {
	"$bin/coppicectl/coppicectl" destroy -a -g 0 >/dev/null 2>&1 || :
	[ -z "${GW_NET:-}" ] ||
	    "$bin/coppicectl/coppicectl" net teardown >/dev/null 2>&1 || :
	kill "$gw" 2>/dev/null || :
	kill "$coppiced" 2>/dev/null || :
	wait
}

ip link set lo up
"$bin/coppiced/coppiced" -f -p "$GW_DIR" >"$GW_DIR/coppiced.log" 2>&1 &
coppiced=$! gw=
echo "$coppiced" >"$GW_DIR/coppiced.pid"
trap down EXIT
wait_for "$bin/coppicectl/coppicectl" version
"$bin/coppicectl/coppicectl" template build tiny >/dev/null
if [ -n "${GW_GIT:-}" ]; then
	sh "$(dirname "$0")/git.sh" "$bin/coppicectl/coppicectl" "$GW_DIR"
fi
if [ -n "${GW_NET:-}" ]; then
	"$bin/coppicectl/coppicectl" net setup -n
fi
if [ -n "${GW_KEYS:-}" ]; then
	for k in admin use other read; do
		scope=$k
		[ $k != other ] || scope=use
		eval "$("$bin/coppicectl/coppicectl" key create -f \
		    "$GW_DIR/state/gateway/keys" -s $scope \
		    $k | sed "s/^/KEY_$k=/")"
		export "KEY_$k"
	done
	export E2B_API_KEY="$KEY_use"
fi
"$bin/coppicegw/coppicegw" -f -p "$GW_DIR" >"$GW_DIR/gw.log" 2>&1 &
gw=$!
echo "$gw" >"$GW_DIR/gw.pid"
export GW_PID=$gw
export E2B_API_URL="${E2B_API_URL:-http://127.0.0.1:3000}"
export E2B_SANDBOX_URL="${E2B_SANDBOX_URL-http://127.0.0.1:3000}"
export E2B_API_KEY="${E2B_API_KEY:-e2b_none}"
wait_for node -e 'require("net").connect(3000, "127.0.0.1")
    .on("error", () => process.exit(1)).on("connect", () => process.exit(0))'
"$@"
