# Completion of coppicectl(8) for bash.

_coppicectl()
{
	local cur=${COMP_WORDS[COMP_CWORD]} prev=${COMP_WORDS[COMP_CWORD-1]}
	local i=1 noun verb words

	COMPREPLY=()
	while [[ $i -lt $COMP_CWORD ]]; do
		case ${COMP_WORDS[i]} in
		-s | --libxo)	i=$((i + 2)) ;;
		-*)		i=$((i + 1)) ;;
		*)		break ;;
		esac
	done
	noun=${COMP_WORDS[i]} verb=${COMP_WORDS[i+1]}
	if [[ $i -ge $COMP_CWORD ]]; then
		words="attach clone cp create destroy diff doctor events exec
		    help history key kill list logs net pause ps redo rename
		    resume safeguard shell show snapshot start stop template
		    timeout top undo version -s --libxo"
	elif [[ $((i + 1)) -eq $COMP_CWORD && $noun == net ]]; then
		words="set setup show teardown"
	elif [[ $((i + 1)) -eq $COMP_CWORD && $noun == key ]]; then
		words="create list revoke"
	elif [[ $((i + 1)) -eq $COMP_CWORD && $noun == safeguard ]]; then
		words="allow deny list set"
	elif [[ $((i + 1)) -eq $COMP_CWORD && $noun == template ]]; then
		words="build export import list remove"
	else
		case $noun:$verb:$prev in
		create:*:-t | template:export:* | template:remove:*)
			words=$(coppicectl template list 2>/dev/null |
			    awk 'NR > 1 { for (i = 6; i <= NF; i++) print $i }')
			;;
		*:*:-N)		words="open allowlist airgap disabled" ;;
		*:*:-o)		words="destroy stop pause" ;;
		template:build:*)
			words="tiny debian ubuntu alpine freebsd" ;;
		create:*:-w | template:import:* | net:set:-f)
			COMPREPLY=($(compgen -f -- "$cur"))
			return
			;;
		create:* | doctor:* | list:* | top:* | version:*)
			return ;;
		cp:*)
			words=$(coppicectl list -q 2>/dev/null |
			    sed 's/$/:/')
			COMPREPLY=($(compgen -f -- "$cur"))
			;;
		help:*)
			words="create exec undo" ;;
		*)
			words=$(coppicectl list -q 2>/dev/null) ;;
		esac
	fi
	COMPREPLY+=($(compgen -W "$words" -- "$cur"))
}
complete -F _coppicectl coppicectl
