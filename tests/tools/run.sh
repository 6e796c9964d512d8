#!/bin/bash
# tests/tools/run.sh: the tools that guard the project must be able to say no.
set -uo pipefail
cd "$(dirname "$0")/../.."
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
passed=0
failed=0

# expect NAME STATUS TEXT COMMAND...: the exit status, and a text the output holds.
expect() {
    local name=$1 status=$2 text=$3 output got
    shift 3
    output=$("$@" 2>&1)
    got=$?
    if [ "$got" = "$status" ] && [[ $output == *"$text"* ]]; then
        passed=$((passed + 1))
    else
        failed=$((failed + 1))
        printf 'FAIL %s: status %d, not %d, or no "%s" in:\n%s\n' \
            "$name" "$got" "$status" "$text" "$output"
    fi
}

# includes MODULE HEADER: the include check over a tree with that one edge.
includes() {
    rm -rf "$work/src"
    mkdir -p "$work/src/$1"
    echo "#include \"$2\"" > "$work/src/$1/x.c"
    tools/check-includes "$work"
}

# sees ROOM HEADER...: the include check over a tree where a file of the room includes the first
# header, which includes the second, and so on.
sees() {
    rm -rf "$work/src"
    mkdir -p "$work/src/$1"
    echo "#include \"$2\"" > "$work/src/$1/x.c"
    shift
    while [ $# -gt 0 ]; do
        mkdir -p "$work/src/$(dirname "$1")"
        echo "${2:+#include \"$2\"}" > "$work/src/$1"
        shift
    done
    tools/check-includes "$work"
}

expect includes__may_point_down 0 '' includes report verdict/verdict.h
expect includes__may_skip_a_layer 0 '' includes cli base/base.h
expect includes__may_stay_at_home 0 '' includes stat stat/history.h
expect includes__never_point_up 1 'stat may not use verdict' includes stat verdict/verdict.h
expect includes__never_reach_a_sibling 1 'input may not use verdict' \
    includes input verdict/verdict.h
expect includes__keep_the_library_apart_from_the_program 1 'lib may not use cli' \
    includes lib cli/cli.h
expect includes__use_the_public_header 1 'private to base' includes stat base/buf.h
expect includes__name_the_room 1 'ROOM/HEADER.h' includes base buf.h
expect includes__never_climb 1 'ROOM/HEADER.h' includes base ../cli/cli.h
expect includes__know_every_room 1 'not in the table' includes newcomer base/base.h

expect includes__keep_the_probe_to_itself 1 'probe/hook may not use base' \
    includes probe/hook base/base.h
expect includes__order_the_folders_of_the_probe 1 'probe/census may not use probe/hook' \
    includes probe/census probe/hook/ring.h
expect includes__keep_the_job_from_reports 1 'job is not for report' \
    sees report view/view.h job/job.h
expect includes__let_a_view_be_made_of_a_job 0 '' sees view judge/judge.h job/job.h

# A machine with a shell and nothing else, where nobody may install.
bare() {
    mkdir -p "$work/bin"
    for program in bash dirname sed cat; do
        ln -sf "$(command -v "$program")" "$work/bin/$program"
    done
    printf '#!/bin/bash\necho 1000\n' > "$work/bin/id"
    printf '#!/bin/bash\nexit 1\n' > "$work/bin/sudo"
    printf '#!/bin/bash\necho apt-get must not run; exit 0\n' > "$work/bin/apt-get"
    chmod +x "$work"/bin/{id,sudo,apt-get}
    PATH=$work/bin bash tools/install-packages "$@"
}

expect packages__prints_the_command_without_rights 1 \
    'sudo apt-get update && sudo apt-get install -y --no-install-recommends make gcc' bare build
expect packages__asks_only_for_what_the_target_needs 1 \
    '--no-install-recommends python3 ' bare bench
expect packages__is_silent_where_nothing_is_missing 0 '' bare none

# docs TEXT: the document check over one document of that text.
docs() {
    rm -rf "$work/docs"
    mkdir -p "$work/docs"
    printf '%b\n' "# A page: of \`one\`\n$1" > "$work/docs/one.md"
    tools/check-docs "$work"
}

expect docs__may_link_to_a_heading 0 '' docs '[x](one.md#a-page-of-one) [y](#a-page-of-one)'
expect docs__may_link_elsewhere 0 '' docs '[x](https://example.org/none)'
expect docs__name_no_missing_file 1 'no such file' docs '![x](pictures/none.png)'
expect docs__name_no_missing_heading 1 'no such heading' docs '[x](one.md#two)'
expect docs__are_merged_whole 1 'a mark of a merge' docs '<<<<<<< HEAD'

echo "$passed passed, $failed failed"
[ "$failed" = 0 ]
