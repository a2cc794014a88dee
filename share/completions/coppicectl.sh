# Completion of coppicectl(8) for shells of the sh family, to be read by ".":
# Korn shells take lists of words, the others have files of their own.

if [ -n "${KSH_VERSION:-}" ]; then
	set -A complete_coppicectl_1 -- attach clone cp create destroy diff \
	    doctor events exec help history key kill list logs net pause ps \
	    redo rename resume safeguard shell show snapshot start stop template \
	    timeout top undo version
	set -A complete_coppicectl_2 -- set setup show teardown allow deny \
	    list build export import remove create revoke \
	    $(coppicectl list -q 2>/dev/null)
	set -A complete_coppicectl -- $(coppicectl list -q 2>/dev/null)
fi
