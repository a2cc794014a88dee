# Completion of coppicectl(8) for fish.

set -l commands attach clone cp create destroy diff doctor events exec help \
    history key kill list logs net pause ps redo rename resume safeguard shell \
    show snapshot start stop template timeout top undo version
set -l boxes attach clone cp destroy diff events exec history kill logs pause \
    ps redo rename resume shell show snapshot start stop timeout undo

complete -c coppicectl -n "not __fish_seen_subcommand_from $commands" -f \
    -a "$commands"
complete -c coppicectl -n "not __fish_seen_subcommand_from $commands" \
    -s s -r -d "socket of coppiced"
complete -c coppicectl -n "not __fish_seen_subcommand_from $commands" \
    -l libxo -x -a "json xml json,pretty"
complete -c coppicectl -n "__fish_seen_subcommand_from net" -f \
    -a "set setup show teardown"
complete -c coppicectl -n "__fish_seen_subcommand_from key" -f \
    -a "create list revoke"
complete -c coppicectl -n "__fish_seen_subcommand_from safeguard" -f \
    -a "allow deny list set"
complete -c coppicectl -n "__fish_seen_subcommand_from template" \
    -a "build export import list remove"
complete -c coppicectl -n "__fish_seen_subcommand_from $boxes net safeguard" \
    -f -a "(coppicectl list -q 2>/dev/null)"
complete -c coppicectl -n "__fish_seen_subcommand_from cp" -F
complete -c coppicectl -n "__fish_seen_subcommand_from create clone" \
    -s N -x -a "open allowlist airgap disabled" -d "network"
complete -c coppicectl -n "__fish_seen_subcommand_from create clone" \
    -s o -x -a "destroy stop pause" -d "when its time is over"
complete -c coppicectl -n "__fish_seen_subcommand_from create" \
    -s w -r -d "shared folder"
