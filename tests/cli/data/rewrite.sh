# data/rewrite.sh: follows a log that is begun anew while it is read, then stops with SIGTERM.
# Prints what was said of it and the samples of both runs, without the times.
samples() {
    awk -v to="$1" 'BEGIN { for (i = 1; i <= to; i++) print "Step " i ": " 5000 + i " MB" }'
}
reported() {
    until grep -q "$1" log; do sleep 0.1; done
}

samples 100 >train.log
: >log
tidemark analyze --follow train.log --json >out 2>log &
until [ -s out ]; do sleep 0.1; done
samples 10 >train.log
reported 'from its start'
sleep 0.5
kill -TERM $!
wait $!
status=$?
cat log
grep -h '"samples"\|"restarts"\|"last_step"' out
exit $status
