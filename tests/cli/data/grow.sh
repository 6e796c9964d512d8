# data/grow.sh: follows a file that grows from 40 to 1,500 samples, then stops with SIGINT.
# Prints what was reported, without the times.
samples() {
    awk -v from="$1" -v to="$2" 'BEGIN { for (i = from; i <= to; i++) print i "," 26214400 + 512 * i }'
}
reported() {
    until grep -q "$1" log; do sleep 0.1; done
}

echo step,torch.allocated_bytes >grow.csv
samples 1 40 >>grow.csv
: >log
tidemark analyze --follow grow.csv --quiet --fail-on leak:negligible >>log &
reported INCONCLUSIVE
samples 41 1500 >>grow.csv
reported ' LEAK'
kill -INT $!
wait $!
status=$?
sed 's/, 20[0-9-]* [0-9:]*\(, the end\)*:/, NOW\1:/' log
exit $status
