#!/usr/bin/env bash
# tests/cli/run.sh TIDEMARK [--update] [CASE.test...]: the golden tests of the command line.
#
# A case is a transcript. Lines that begin with "  $ " are commands, run by bash in a fresh folder
# where `tidemark` is the program, `data` is tests/cli/data, `series` tests/data and `docs` docs; what
# follows, indented by two spaces, is all they print (standard error too), and "  [N]" is an exit
# status that is not 0.
# Anything that is not indented is prose. Prints a diff for each case that fails and
# "N passed, N failed" last, counted in commands. --update writes what was printed into the cases.
set -u

[ $# -ge 1 ] || { echo "usage: $0 TIDEMARK [--update] [CASE.test...]" >&2; exit 1; }
program=$(realpath "$1") || exit 1
here=$(cd "$(dirname "$0")" && pwd)
shift
update=false
[ "${1:-}" = --update ] && { update=true; shift; }
[ $# -gt 0 ] || set -- "$here"/*.test

scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT
mkdir "$scratch/bin"
ln -s "$program" "$scratch/bin/tidemark"
export PATH="$scratch/bin:$PATH" LC_ALL=C TZ=UTC TERM=dumb
unset COLUMNS NO_COLOR
passed=0
failed=0

# Runs $command in the case's folder and adds its transcript to $new.
run_command() {
    local output status
    output=$(cd "$folder" && timeout 60 bash -c "$command" 2>&1 </dev/null; echo "[$?]")
    status=${output##*$'\n'}
    output=${output%"$status"}
    [ "$status" = "[0]" ] || output+=$status$'\n'
    printf '  $ %s\n' "$command" >>"$new"
    got=$(printf '%s' "$output" | sed 's/^/  /; s/^  $//')
    [ -z "$got" ] || printf '%s\n' "$got" >>"$new"
}

# The command whose expected output has been read is run and compared.
finish_command() {
    [ -n "$command" ] || return 0
    run_command
    if [ "$got" = "${expected%$'\n'}" ]; then
        passed=$((passed + 1))
    else
        failed=$((failed + 1))
    fi
    command=
    expected=
}

# A blank line may stand within an output or after it: it is kept until the next line tells.
run_case() {
    local case=$1 line blank=
    folder=$(mktemp -d -p "$scratch")
    new=$scratch/new
    command=
    expected=
    ln -s "$here/data" "$folder/data"
    ln -s "$here/../data" "$folder/series"
    ln -s "$here/../../docs" "$folder/docs"
    : >"$new"
    while IFS= read -r line || [ -n "$line" ]; do
        if [[ $line == "  \$ "* ]]; then
            finish_command
            printf '%s' "$blank" >>"$new"
            blank=
            command=${line#  \$ }
        elif [[ -z $line ]]; then
            blank+=$'\n'
        elif [[ $line == "  "* && -n $command ]]; then
            expected+=$blank$line$'\n'
            blank=
        else
            finish_command
            printf '%s%s\n' "$blank" "$line" >>"$new"
            blank=
        fi
    done <"$case"
    finish_command
    if $update; then
        cp "$new" "$case"
    else
        diff -u "$case" "$new"
    fi
}

for case in "$@"; do
    run_case "$case"
done
$update && exit 0
echo "$passed passed, $failed failed"
[ "$failed" -eq 0 ]
