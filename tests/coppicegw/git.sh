#!/bin/sh
# SPDX-License-Identifier: BSD-2-Clause
#
# usage: git.sh coppicectl dir
#
# Make the template "git" of "tiny" and the host's git with its libraries.
# Its first command says two things, a second apart.

set -eu
ctl=$1 dir=$2/git
core=$(git --exec-path)

mkdir -p "$dir/root$core"
"$ctl" template export tiny "$dir/tiny.tar"
tar --warning=no-unknown-keyword -C "$dir/root" -xf "$dir/tiny.tar"
cp "$(command -v git)" "$dir/root/usr/bin/git"
for lib in $(ldd "$(command -v git)" |
    sed -n 's|[^/]*\(/[^ ]*\) (0x.*|\1|p'); do
	mkdir -p "$dir/root$(dirname "$lib")"
	cp -L "$lib" "$dir/root$lib"
done
for cmd in git git-upload-pack git-receive-pack; do
	ln -sf /usr/bin/git "$dir/root$core/$cmd"
	[ $cmd = git ] || ln -sf git "$dir/root/usr/bin/$cmd"
done
cat >"$dir/root/.coppice" <<UCL
start = [ "/bin/sh", "-c", "echo one; sleep 1; echo two; sleep 600" ]
UCL
cd "$dir/root"
tar -cf "$dir/git.tar" .coppice ./*
"$ctl" template import -n git "$dir/git.tar"
