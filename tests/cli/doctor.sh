#!/usr/bin/env bash
# tests/cli/doctor.sh TIDEMARK: `tidemark doctor` as root and as nobody, with and without GPUs.
#
# What it finds depends on the machine, so that single lines are looked for. What needs root is left
# out, and said so, where we are not. The stand-in for NVIDIA's library lies in tests/ beside the
# program. Prints "N passed, N failed" last.
set -u

[ $# = 1 ] || { echo "usage: $0 TIDEMARK" >&2; exit 1; }
program=$(realpath "$1") || exit 1
scratch=$(mktemp -d)
trap 'chmod -R u+w "$scratch"; rm -rf "$scratch"' EXIT
# Nobody may not see the folder of the build.
cp "$program" "$scratch/tidemark"
cp "$(dirname "$program")/tests/libnvml_standin.so" "$scratch/nvml.so" || exit 1
mkdir "$scratch/open" "$scratch/closed"
chmod 755 "$scratch"
chmod 777 "$scratch/open"
chmod 555 "$scratch/closed"
export LC_ALL=C TERM=dumb TIDEMARK_NVML=/nonexistent
unset COLUMNS NO_COLOR
passed=0
failed=0
output=
status=0

# run FOLDER COMMAND...: fills $output and $status.
run() {
    local folder=$1
    shift
    output=$(cd "$folder" && timeout 60 "$@" 2>&1 </dev/null)
    status=$?
}

# The program as we are, and as nobody.
doctor() {
    local folder=$1
    shift
    run "$folder" "$scratch/tidemark" doctor --ascii --width 100 "$@"
}

nobody() {
    local folder=$1
    shift
    run "$folder" setpriv --reuid=65534 --regid=65534 --clear-groups \
        "$scratch/tidemark" doctor --ascii --width 100 "$@"
}

# result NAME TRUE-OR-FALSE
result() {
    if $2; then
        passed=$((passed + 1))
    else
        failed=$((failed + 1))
        printf 'FAIL %s: status %d\n%s\n\n' "$1" "$status" "$output"
    fi
}

# has NAME STATUS REGEX...: the last run ended so, and a line fits each regular expression.
has() {
    local name=$1 good=true regex
    [ "$status" = "$2" ] || good=false
    shift 2
    for regex in "$@"; do
        grep -qE -- "$regex" <<<"$output" || { good=false; echo "no line fits: $regex"; }
    done
    result "$name" "$good"
}

skip() {
    echo "skipped: $1"
}

can_be_nobody=false
if [ "$(id -u)" = 0 ] && setpriv --reuid=65534 --regid=65534 --clear-groups true 2>/dev/null; then
    can_be_nobody=true
fi
can_unshare=false
if [ "$(id -u)" = 0 ] && unshare --mount --pid --fork true 2>/dev/null; then
    can_unshare=true
fi
is_sanitized=false
grep -q __asan_init "$program" && is_sanitized=true

# ---- usage ----

run "$scratch" "$scratch/tidemark" doctor --help
has doctor__explains_itself 0 '^usage: tidemark doctor ' '^  --pid N '
doctor "$scratch/open" file
has doctor__takes_no_operand 1 '^tidemark: doctor: takes no file or command'
doctor "$scratch/open" --pid 1.5
has doctor__wants_a_whole_pid 1 '^tidemark: doctor: --pid: got 1.5, expected the number of a process'
doctor "$scratch/open" --pid 4194304
has doctor__tells_a_missing_process 1 '^tidemark: doctor: there is no process 4194304'

# ---- the checks ----

doctor "$scratch/open"
has doctor__makes_every_check 0 \
    '^run and watch work here: [0-9]+ checks ok' \
    '^Watching processes$' \
    '^  ok       process list    /proc shows [0-9]+ process' \
    '^  [a-z]+ +memory by kind  ' \
    '^  [a-z]+ +fair shares     ' \
    '^  [a-z]+ +open files      counted' \
    '^  [a-z]+ +other users     ' \
    '^  ok       RAM             [0-9.]+ [MGT]B' \
    '^  [a-z]+ +OOM kills       ' \
    '^  [a-z]+ +cgroup          ' \
    '^  [a-z]+ +pressure        ' \
    '^  [a-z]+ +/dev/shm        ' \
    '^  no       NVIDIA driver   ' \
    '^ +-> host memory is watched all the same' \
    '^  [a-z]+ +terminal        ' \
    '^  limited  inside steps    libtidemark_preload.so is neither beside the program nor' \
    '^  ok       run file        written and read in this folder \(SQLite [0-9.]+\)' \
    '^  [a-z]+ +disk            [0-9.]+ [A-Z]+ free' \
    '^  [a-z]+ +files at once   room to watch .* processes' \
    '^  ok       clock           steady' \
    '^  [a-z]+ +native names    ' \
    '^  [a-z]+ +attaching       ' \
    '^  ok       its rules       .*ptrace_scope.*CAP_SYS_PTRACE.*seccomp' \
    '^  [a-z]+ +reading memory  ' \
    '^  [a-z]+ +process end     '
result doctor__leaves_nothing_behind "$([ -z "$(ls -A "$scratch/open")" ] && echo true || echo false)"
result doctor__gives_advice_for_what_is_not_ok "$(awk '
    /^  (limited|no) / { if (open) bad = 1; open = 1; next }
    /^ +-> / { open = 0 }
    /^  ok / { if (open) bad = 1 }
    END { print (bad || open) ? "false" : "true" }' <<<"$output")"

run "$scratch/open" "$scratch/tidemark" doctor --ascii
result doctor__fits_80_columns "$(awk 'length > 80 { bad = 1 } END { print bad ? "false" : "true" }' \
    <<<"$output")"
run "$scratch/open" "$scratch/tidemark" doctor --color always
has doctor__colors_the_states 0 $'^  \033\\[1;32mok\033\\[0m       process list    '

doctor "$scratch/open" --json
has doctor__writes_json 0 '"works": true'
result doctor__json_has_its_members "$(python3 -c '
import json, sys
answer = json.load(sys.stdin)
names = [c["name"] for c in answer["checks"]]
good = answer["tidemark"] and answer["schema"] == 1 and len(names) == len(set(names))
for c in answer["checks"]:
    good = good and c["group"] and c["detail"] and c["state"] in ("ok", "limited", "no")
    good = good and ("advice" in c) == (c["state"] != "ok")
for name in "proc kinds pss fds ram cgroup shm nvml pty probe run_file disk files clock symbols ptrace".split():
    good = good and name in names
print("true" if good else "false")' <<<"$output")"

mkdir "$scratch/bin" "$scratch/my bin"
for folder in bin 'my bin'; do
    cp "$program" "$scratch/nvml.so" "$scratch/$folder"
    mv "$scratch/$folder/nvml.so" "$scratch/$folder/libtidemark_preload.so"
done
run "$scratch/open" "$scratch/bin/tidemark" doctor --ascii --width 100
has doctor__finds_the_probe 0 '^  ok       inside steps    run counts them itself, by'
run "$scratch/open" "$scratch/my bin/tidemark" doctor --ascii --width 100
has doctor__tells_a_probe_that_cannot_be_preloaded 0 \
    '^  limited  inside steps    .*my bin/libtidemark_preload.so cannot be preloaded'

# The loader takes the first file of that name, whatever it is.
mkdir "$scratch/no libdw" "$scratch/old libdw" "$scratch/no libstdc++"
echo 'no library' | tee "$scratch/no libdw/libdw.so.1" >"$scratch/no libstdc++/libstdc++.so.6"
cp "$scratch/nvml.so" "$scratch/old libdw/libdw.so.1"
if LD_PRELOAD=libdw.so.1:libstdc++.so.6 cat /dev/null 2>&1 | grep -q .; then
    skip "libdw or libstdc++ is not installed: native names are not tried without them"
else
    doctor "$scratch/open"
    has doctor__names_native_code 0 \
        '^  ok       native names    functions, source lines \(libdw\) and C\+\+ names can be read$'
    for folder in 'no libdw' 'old libdw'; do
        LD_LIBRARY_PATH="$scratch/$folder" doctor "$scratch/open"
        has "doctor__tells_what_is_lost_with_${folder/ /_}" 0 \
            '^  limited  native names    functions only: libdw is not installed$' \
            '^ +-> for source lines .*apt( |$)' 'install libdw1, or dnf install elfutils-libs$'
    done
    LD_LIBRARY_PATH="$scratch/no libstdc++" doctor "$scratch/open"
    has doctor__tells_that_names_stay_mangled 0 \
        '^  limited  native names    C\+\+ names stay mangled: libstdc\+\+ is not installed$'
fi

doctor "$scratch/open" --pid $$
has doctor__looks_at_a_process 0 "^Process $$\$" \
    '^  ok       memory          [0-9.]+ [KMG]B resident; can be watched' \
    '^  [a-z]+ +fair share      ' '^  ok       open files      [0-9]+$'

# A file system of the kernel's takes no files, from root neither.
doctor /proc
has doctor__works_where_nothing_can_be_written 0 \
    '^  limited  run file        cannot be written in this folder' '--output=/tmp/NAME.tide'

# ---- GPUs ----

export TIDEMARK_NVML=$scratch/nvml.so TIDEMARK_STANDIN=$scratch/gpus.txt
cat >"$TIDEMARK_STANDIN" <<'END'
device uuid=GPU-aaaa name=NVIDIA_H200 total=139G
process pid=self used=3G
device uuid=GPU-bbbb name=NVIDIA_A100 total=40G mig
mig uuid=MIG-cccc name=A100_MIG_1g total=5G gi=1 ci=0
device uuid=GPU-dddd name=NVIDIA_L4 total=24G lost
END
doctor "$scratch/open"
has gpu__lists_the_devices 0 \
    '^  ok       NVIDIA driver   answers: 3 GPUs$' \
    '^  ok       gpu0            NVIDIA H200, 139 GB, 3.00 GB used, GPU-aaaa$' \
    '^  ok       gpu1 MIG 1      A100 MIG 1g, 5.00 GB, 0 B used, MIG-cccc$' \
    '^  no       gpu2            .*lost, it does not answer' \
    '^  ok       by process      the driver names who uses a GPU: 1 now$'

echo 'device uuid=GPU-aaaa name=NVIDIA_H200 total=139G used=9G processes=3' >"$TIDEMARK_STANDIN"
doctor "$scratch/open"
has gpu__tells_that_processes_are_not_named 0 \
    '^  limited  by process      the driver does not name the processes here$' 'docker run --pid=host'

echo 'device uuid=GPU-aaaa name=NVIDIA_H200 total=139G used=9G' >"$TIDEMARK_STANDIN"
doctor "$scratch/open"
has gpu__doubts_an_empty_list_of_a_full_device 0 '^  limited  by process      the driver does not name'

printf 'device uuid=GPU-aaaa total=1G\nprocess pid=4194304 used=1M\n' >"$TIDEMARK_STANDIN"
doctor "$scratch/open"
has gpu__tells_foreign_process_numbers 0 '^  limited  by process      the driver names processes that'

echo 'driver init=999' >"$TIDEMARK_STANDIN"
doctor "$scratch/open"
has gpu__tells_why_the_driver_does_not_answer 0 \
    '^  no       NVIDIA driver   the NVIDIA driver does not answer: '

if command -v cc >/dev/null; then
    echo 'int nvmlInit_v2(void) { __builtin_trap(); }
int nvmlDeviceGetCount_v2(int *n) { return n != 0; }
int nvmlDeviceGetHandleByIndex_v2(int i, void **h) { return i + (h != 0); }' >"$scratch/crash.c"
    cc -shared -fPIC -o "$scratch/crash.so" "$scratch/crash.c" 2>/dev/null
    export TIDEMARK_NVML=$scratch/crash.so
    doctor "$scratch/open"
    has gpu__survives_a_driver_that_crashes 0 '^  no       NVIDIA driver   its library crashed \('
else
    skip "no compiler to make a driver that crashes"
fi
export TIDEMARK_NVML=/nonexistent

# ---- other users ----

if $can_be_nobody; then
    nobody "$scratch/open" --pid $$
    has nobody__sees_less_of_others 0 \
        'as an ordinary user$' \
        '^  limited  other users     ' '^ +-> .*as the job.s user or as root' \
        '^  ok       run file        written and read' \
        '^  ok       memory          .*can be watched' \
        '^  limited  fair share      cannot be read \(Permission denied\)' \
        '^  no       attaching       refused'
    nobody "$scratch/closed"
    has nobody__works_in_a_read_only_folder 0 \
        '^run and watch work here' \
        '^  limited  run file        cannot be written in this folder \(Permission denied\)' \
        '--output=/tmp/NAME.tide'
else
    skip "not root, or no setpriv: nothing is tried as nobody"
fi

# A /proc of its own in a process namespace of its own: the machine's is left alone.
# private OPTIONS-OF-MOUNT...
private() {
    run "$scratch/open" unshare --mount --pid --fork --propagation private bash -c "
        mount $1 /proc && setpriv --reuid=65534 --regid=65534 --clear-groups \
            '$scratch/tidemark' doctor --ascii --width 100; exit \$?"
}

if $can_be_nobody && $can_unshare; then
    private '-t proc -o hidepid=2 proc'
    has private__tells_hidden_processes 0 \
        '^  limited  other users     hidden: .*\(/proc has hidepid=' \
        'remount,hidepid=0 /proc'
    if $is_sanitized; then
        skip "the sanitizers need /proc themselves"
    else
        private '-t tmpfs none'
        has private__fails_without_proc 1 \
            '^run and watch do not work here' '^  no       process list    ' '^ +-> .*mount -t proc'
    fi
else
    skip "no namespaces to be made: /proc is always there"
fi

echo "$passed passed, $failed failed"
[ "$failed" = 0 ]
