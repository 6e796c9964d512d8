#!/usr/bin/env bash
# wrapper_trainer_workers.sh [OPTIONS of trainer.py]: a shell script -> python trainer -> 3 workers.
#
# grows:   only the trainer, see trainer.py; the shell stays, small and flat, until it has ended
# verdict: leak, host.anon or host.private, role trainer; the shell's role is wrapper, the workers'
#          data worker; --fix: no leak
set -uo pipefail

echo "starting the training"
/usr/bin/env python3 "$(dirname "$0")/trainer.py" "$@"
status=$?
echo "training ended with status $status"
exit "$status"
